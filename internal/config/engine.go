package config

import (
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Temporal is the kind of an [Engine] on several machines.
const Temporal = "temporal"

// An Engine is what records and executes the runs: this machine, or a deployment of Temporal.
type Engine struct {
	Kind      string // "" is this machine, or Temporal
	Profile   string // of the config of Temporal, which has the address and the credentials; "" is its default one
	Address   string // of the server, instead of that of the profile; or ""
	Namespace string // instead of that of the profile; or ""
	Queue     string // the queue of all runs; "" is one for each checkout
	Blobs     string // the folder of large values, which all machines share; "" is one in the user's folder
	Key       string // the name of the secret with which everything is encrypted, or ""
}

// EngineKinds returns the kinds of engines.
func EngineKinds() []string { return []string{"local", Temporal} }

func (r *reader) engine(v value.Value) error {
	e := &r.to.Engine
	texts := map[string]*string{"kind": &e.Kind, "profile": &e.Profile, "address": &e.Address, "namespace": &e.Namespace, "queue": &e.Queue, "blobs": &e.Blobs, "key": &e.Key}
	fields, err := object("engine", "an object, as in {kind: temporal, profile: prod},", v, "kind", "profile", "address", "namespace", "queue", "blobs", "key")
	if err != nil {
		return err
	}
	for k, v := range fields.All() {
		name := k.(string)
		text, ok := v.(string)
		if !ok || text == "" {
			return wrongType("engine."+name, "a text", v)
		}
		*texts[name] = text
	}
	if fields.Has("kind") {
		err = oneOf("engine.kind", e.Kind, EngineKinds(), &e.Kind)
	}
	return err
}
