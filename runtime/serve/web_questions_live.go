package serve

import (
	"strconv"
	"time"

	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
)

// questionsEvery is how often the questions of a page are compared with what it has.
const questionsEvery = 500 * time.Millisecond

// liveQuestions streams what changes in the inbox, or on the page of one question.
func (r *request) liveQuestions() error {
	at := lastID(r, r.URL.Query().Get("at"))
	look := r.watchInbox
	if r.URL.Query().Has("q") {
		look = r.watchQuestion
	}
	return r.live(func(l *live) error {
		next := look(l, at)
		if err := next(); err != nil {
			return err
		}
		tick := time.NewTicker(questionsEvery)
		defer tick.Stop()
		return each(l, tick.C, func(time.Time) error { return next() })
	})
}

// watchInbox returns a function that sends what has changed in the list of open questions.
func (r *request) watchInbox(l *live, at string) func() error {
	var known map[string]inboxItem
	return func() error {
		list, err := r.openItems()
		if err != nil {
			return err
		}
		id := openID(list)
		if known == nil && id != at {
			if err := l.resync(id); err != nil {
				return err
			}
		}
		now := map[string]inboxItem{}
		for i := range list {
			item := &list[i]
			now[item.q.ID] = *item
			if _, is := known[item.q.ID]; known == nil || is {
				continue
			}
			row := r.questionRow(item)
			if err := l.part("question-row", &row, id); err != nil {
				return err
			}
		}
		for question := range known {
			if _, open := now[question]; open {
				continue
			}
			if err := r.sendGone(l, question, id); err != nil {
				return err
			}
		}
		known = now
		return nil
	}
}

// sendGone sends the row of a question that is no longer open.
func (r *request) sendGone(l *live, question, id string) error {
	i, err := r.asked(question)
	if err != nil {
		return nil // its run is gone, and the row stays until the page is loaded again
	}
	row := r.questionRow(i)
	if row.Given == nil {
		row.Note = "no longer asked"
	}
	return l.part("question-row", &row, id)
}

// watchQuestion returns a function that sends a question when it was answered or its run has gone on.
func (r *request) watchQuestion(l *live, at string) func() error {
	question := r.URL.Query().Get("q")
	var next time.Time
	return func() error {
		if now := time.Now(); now.Before(next) {
			return nil
		}
		began := time.Now()
		i, err := r.asked(question)
		if err != nil {
			return err
		}
		defer func() { next = time.Now().Add(runShare * time.Since(began)) }()
		if !r.hasChanged(i, at) {
			return nil
		}
		v, err := r.itemView(i)
		if err != nil {
			return err
		}
		v.OwnPage = true
		v.Shorten()
		at = questionID(v)
		return l.part("question", v, at)
	}
}

// hasChanged reports whether a question is in another state than a page has it.
func (r *request) hasChanged(i *inboxItem, at string) bool {
	v := &page.Question{}
	r.fillState(v, i.run, i.q)
	v.Rev = i.q.Sent
	return questionID(v) != at
}

// questionID stands for the state of a question.
func questionID(v *page.Question) string { return strconv.Itoa(v.Rev) + "-" + string(v.State) }
