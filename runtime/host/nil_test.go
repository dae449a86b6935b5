package host_test

import (
	"context"
	"iter"
	"reflect"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestNoHost calls each method of a host that is nil, and of one that New has not made. Methods that return an error, or
// yield one, report it with kind Invalid, and others return nothing.
func TestNoHost(t *testing.T) {
	for name, h := range map[string]*host.Host{"nil": nil, "zero": {}} {
		methods := reflect.TypeOf(h)
		for i := range methods.NumMethod() {
			m := methods.Method(i)
			t.Run(name+"/"+m.Name, func(t *testing.T) {
				defer func() {
					if p := recover(); p != nil {
						t.Errorf("panic: %v", p)
					}
				}()
				in := []reflect.Value{reflect.ValueOf(h)}
				for p := 1; p < m.Type.NumIn(); p++ {
					switch of := m.Type.In(p); {
					case m.Type.IsVariadic() && p == m.Type.NumIn()-1:
					case of == reflect.TypeFor[context.Context]():
						in = append(in, reflect.ValueOf(t.Context()))
					case of.Kind() == reflect.Pointer:
						in = append(in, reflect.New(of.Elem()))
					default:
						in = append(in, reflect.Zero(of))
					}
				}
				for _, out := range m.Func.Call(in) {
					var err error
					switch of := out.Interface().(type) {
					case iter.Seq2[history.Run, error]:
						for _, err = range of {
						}
					case iter.Seq2[tool.Event, error]:
						for _, err = range of {
						}
					case iter.Seq2[tool.Question, error]:
						for _, err = range of {
						}
					case <-chan tool.Event:
						if e, open := <-of; open {
							t.Errorf("an event: %v", e)
						}
						continue
					case []*value.Error:
						err = of[0]
					case error:
						err = of
					case nil:
						if out.Type() != reflect.TypeFor[error]() {
							continue
						}
					default:
						if out.Kind() == reflect.Slice && out.Len() > 0 {
							t.Errorf("it returned %v", of)
						}
						continue
					}
					if value.KindOf(err) != value.Invalid {
						t.Errorf("it returned %v, want kind Invalid", err)
					}
				}
			})
		}
	}
}
