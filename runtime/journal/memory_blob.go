package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

type memoryBlob struct {
	data   []byte
	stored time.Time // when it was last stored
}

func (s *memory) PutBlob(ctx context.Context, name string, data []byte) error {
	if !ValidBlobName(name) {
		return ErrInvalidBlob(name)
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	b, ok := s.blobs[name]
	if !ok || len(b.data) != len(data) {
		b.data = bytes.Clone(data)
	}
	b.stored = time.Now()
	s.blobs[name] = b
	return nil
}

func (s *memory) Blob(ctx context.Context, name string, size int64) ([]byte, error) {
	if !ValidBlobName(name) {
		return nil, ErrInvalidBlob(name)
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	b, ok := s.blobs[name]
	s.mu.Unlock()
	sum := sha256.Sum256(b.data)
	switch {
	case !ok:
		return nil, ErrBlob(name, "is missing")
	case int64(len(b.data)) != size:
		return nil, ErrBlob(name, "has an unexpected size")
	case hex.EncodeToString(sum[:]) != name:
		return nil, ErrBlob(name, "has changed")
	}
	return bytes.Clone(b.data), nil
}

func (s *memory) SweepBlobs(ctx context.Context, before time.Time, named func() (map[string]bool, error)) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	var old []string
	for n, b := range s.blobs {
		if b.stored.Before(before) {
			old = append(old, n)
		}
	}
	s.mu.Unlock()
	if len(old) == 0 {
		return nil
	}
	keep, err := named() // it may call this store
	if err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, n := range old {
		if !keep[n] && s.blobs[n].stored.Before(before) {
			delete(s.blobs, n)
		}
	}
	return nil
}
