package eval_test

import (
	"testing"

	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/stdlib"
)

func TestMain(m *testing.M) { testworker.Main(m, stdlib.Pure()...) }
