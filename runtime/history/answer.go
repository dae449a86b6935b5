package history

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// An answer is what somebody said to a question. Whoever answers has not the
// run in hand, so answers are no part of its chain: each has a checksum of its own.
type answer struct {
	value tool.Value
	at    time.Time
	err   error // of reading it
}

// Answer answers a question of a run, with a bool for yes or no, or a text. It
// is for anybody: the run may be parked, or wait in another process. It fails
// with NotFound if nothing is asked there, with Invalid for an answer of the
// wrong kind, and with Conflict if somebody has answered already.
func (j *Journal) Answer(ctx context.Context, run string, p tool.Place, said tool.Value) error {
	h, err := j.history(ctx, run)
	if err != nil {
		return err
	}
	s := h.steps[p.String()]
	if s == nil || s.questions == 0 || s.settled || h.head.state.Ended() {
		return tool.Errorf(tool.NotFound, "the run '%s' asks nothing at step %q", run, p.String()).
			WithHint("cassidy runs show %s", run)
	}
	e, err := s.entry(run, j.blobs.get)
	if err != nil {
		return err
	}
	if err := fits(e.Question, said); err != nil {
		return err
	}
	body, err := tool.Append(make([]byte, len(sum{})), tool.Tuple{run, p.String(), said, nanos(now())})
	if err != nil {
		return tool.Errorf(tool.Invalid, "the answer: %w", err)
	}
	return j.w.wait(&job{do: func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "INSERT INTO answers (num, place, body) VALUES (?, ?, ?)", h.num, p.String(), seal(body))
		if isDuplicate(err) {
			return tool.Errorf(tool.Conflict, "the question of run '%s' at step %q has been answered already", run, p.String())
		}
		return dbError(err)
	}})
}

func fits(q *Question, said tool.Value) error {
	switch said := said.(type) {
	case bool:
		return nil
	case string:
		if !q.Confirm && len(said) <= inlineMost {
			return nil
		}
		if q.Confirm {
			return tool.Errorf(tool.Invalid, "the question %q wants yes or no", q.Text)
		}
		return tool.Errorf(tool.Limit, "an answer of more than %d KB", inlineMost>>10)
	}
	return tool.Errorf(tool.Invalid, "an answer is yes, no or a text, and no %s", tool.TypeOf(said))
}

// answerOf returns the answer at a place of a run, or nil.
func (j *Journal) answerOf(ctx context.Context, run string, p tool.Place) (*answer, error) {
	var body []byte
	err := j.db.QueryRowContext(ctx, "SELECT a.body FROM answers a JOIN runs r ON r.num = a.num WHERE r.id = ? AND a.place = ?", run, p.String()).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, dbError(err)
	}
	return readAnswer(body, run, p.String()), nil
}

func readAnswer(body []byte, run, place string) *answer {
	v, err := unseal(body)
	list, _ := v.(tool.Tuple)
	if err != nil || len(list) != 4 {
		return &answer{err: errChanged}
	}
	p := parts{list: list}
	isOurs := part[string](&p) == run && part[string](&p) == place
	a := &answer{value: part[tool.Value](&p), at: moment(part[int64](&p))}
	if p.bad || !isOurs || fits(&Question{}, a.value) != nil {
		return &answer{err: errRecord}
	}
	return a
}

// readAnswers adds the answers that a run got to its steps.
func (h *history) readAnswers(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, "SELECT place, body FROM answers WHERE num = ?", h.num)
	if err == nil {
		defer rows.Close()
		for rows.Next() {
			var place string
			var body []byte
			if err = rows.Scan(&place, &body); err != nil {
				break
			}
			if s := h.steps[place]; s != nil && s.questions > 0 {
				s.answer = readAnswer(body, h.run.ID, place)
			}
		}
		err = errors.Join(err, rows.Err())
	}
	if err != nil && isDamage(err) {
		if h.damage == nil {
			h.damage = damaged(h.run.ID, "its answers", err)
		}
		return nil
	}
	return dbError(err)
}
