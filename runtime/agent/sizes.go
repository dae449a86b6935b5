package agent

import (
	"context"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/account"
	"github.com/cassidy-run/cassidy/runtime/model"
)

// lookUpTime bounds how long an agent waits for the sizes of its model.
const lookUpTime = 10 * time.Second

// sizes are what is known about a model. They are looked up once. They are safe for concurrent
// use.
type sizes struct {
	model     model.Model
	set       account.Budget // by the user; a zero field has its default
	maxTokens int            // of a reply

	mu     sync.Mutex
	info   *model.Info     // nil until it is looked up
	budget *account.Budget // with the defaults
}

// sizesOf returns the sizes of a model. set is the budget that the user has set, and maxTokens is the
// maximum length of a reply, or 0.
func sizesOf(m model.Model, set account.Budget, maxTokens int) *sizes {
	return &sizes{model: m, set: set, maxTokens: maxTokens}
}

// Model returns the model.
func (s *sizes) Model() model.Model { return s.model }

// Assume sets what is known about the model, so that no server is asked.
func (s *sizes) Assume(info model.Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info, s.budget = &info, s.bounds(info)
}

// Info looks up the model, once, and returns what is known about it.
func (s *sizes) Info(ctx context.Context) model.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.info != nil {
		return *s.info
	}
	look, cancel := context.WithTimeout(ctx, lookUpTime)
	defer cancel()
	info := model.InfoOf(look, s.model)
	if ctx.Err() == nil {
		s.info, s.budget = &info, s.bounds(info)
	}
	return info
}

// Budget returns the budget with its defaults: those of the model, once it was looked up.
func (s *sizes) Budget() *account.Budget {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.budget == nil {
		s.budget = s.bounds(model.Info{})
	}
	return s.budget
}

// Price returns the price of the model, once it was looked up, or nil.
func (s *sizes) Price() *model.Price {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.info == nil {
		return nil
	}
	return s.info.Price
}

// bounds returns the budget for a model.
func (s *sizes) bounds(i model.Info) *account.Budget {
	b := s.set
	if b.Limit == 0 && i.Context > 0 {
		b = b.Sized(i.Context)
	}
	b = b.WithDefaults()
	if s.set.Reserve == 0 && s.maxTokens > b.Reserve {
		b.Reserve = min(s.maxTokens, b.Limit/2)
	}
	return &b
}
