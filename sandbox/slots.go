package sandbox

// slots counts the workers of a pool, those that are being started among them, and whose
// they are. Its methods need the lock of the pool.
type slots struct {
	used    int
	tenants map[string]int // the used slots of each
	free    chan struct{}  // closed when a slot is free or a worker idles; nil if no call waits for that
}

// bounds are how many slots may be used for a call, and how many of them by its tenant.
type bounds struct {
	most, perTenant int
	nested          bool // another call makes it
}

// hold takes a slot for a tenant's worker.
func (s *slots) hold(tenant string) {
	s.used++
	s.tenants[tenant]++
}

// release frees the slot of a tenant's worker.
func (s *slots) release(tenant string) {
	s.used--
	s.leave(tenant)
	s.notify()
}

// pass gives a slot from one tenant to another.
func (s *slots) pass(from, to string) {
	s.leave(from)
	s.tenants[to]++
}

func (s *slots) leave(tenant string) {
	if s.tenants[tenant]--; s.tenants[tenant] == 0 {
		delete(s.tenants, tenant)
	}
}

// tenantFull reports whether a tenant has all the slots that it may have.
func (s *slots) tenantFull(tenant string, b bounds) bool { return s.tenants[tenant] >= b.perTenant }

// fits reports whether a tenant's worker, which has a slot, may have it under these bounds.
func (s *slots) fits(tenant string, b bounds) bool {
	return s.used <= b.most && s.tenants[tenant] <= b.perTenant
}

// next returns a channel that is closed at the next [slots.notify].
func (s *slots) next() <-chan struct{} {
	if s.free == nil {
		s.free = make(chan struct{})
	}
	return s.free
}

// notify wakes the calls that wait for a slot or for an idle worker.
func (s *slots) notify() {
	if s.free != nil {
		close(s.free)
		s.free = nil
	}
}
