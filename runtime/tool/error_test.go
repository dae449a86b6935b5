package tool

import "testing"

func TestCatchable(t *testing.T) {
	tests := []struct {
		kind  Kind
		limit LimitName
		want  bool
	}{
		{Failed, "", true},
		{Denied, "", true},
		{Internal, "", true},
		{Unavailable, "", true},
		{Canceled, "", false},
		{Parked, "", false},
		{Parked, "question", false},
		{Timeout, "", false},
		{Timeout, LimitHTTP, true},
		{Timeout, LimitCall, true},
		{Timeout, LimitWall, false},
		{Limit, "", true},
		{Limit, LimitSteps, true}, // of a called tool
		{Limit, LimitMemory, true},
		{Limit, LimitDepth, true},
		{Limit, LimitEffects, false},
		{Limit, LimitTraffic, false},
		{Conflict, LimitRecord, false},
		{Failed, LimitRecord, false},
	}
	for _, tt := range tests {
		if got := (&Error{Kind: tt.kind, Limit: tt.limit}).Catchable(); got != tt.want {
			t.Errorf("kind %s, limit %q: Catchable() = %v, want %v", tt.kind, tt.limit, got, tt.want)
		}
	}
}
