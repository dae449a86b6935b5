package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	enums "go.temporal.io/api/enums/v1"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/temporal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// dialTime is how long the server may take to answer a command that begins.
const dialTime = 5 * time.Second

// deploy connects to the deployment of an engine.
func deploy(e app.Engine) (*app.Deployment, error) {
	o, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{ConfigFileProfile: e.Profile})
	if err != nil {
		return nil, value.Errorf(value.Invalid, "read the config of Temporal: %w", err).WithHint("list its profiles: temporal config list; or set engine.address")
	}
	o.HostPort = cmp.Or(e.Address, o.HostPort, client.DefaultHostPort)
	o.Namespace = cmp.Or(e.Namespace, o.Namespace, client.DefaultNamespace)
	o.Logger = log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))) // what fails is returned
	var key *temporal.Key
	switch {
	case e.Secret != "":
		if key, err = temporal.ParseKey(e.Secret); err != nil {
			return nil, err
		}
		o.DataConverter = temporal.Encrypted(key)
	case !isLoopback(o.HostPort) && e.Key != app.NoKey:
		return nil, value.Errorf(value.Security, "runs at %s need a key: without one, whoever can write to the namespace can read them and answer their questions", o.HostPort).
			WithHint("on each machine: cassidy secret set CASSIDY_TEMPORAL_KEY (32 bytes: openssl rand -base64 32), and cassidy config set engine.key CASSIDY_TEMPORAL_KEY; or accept the risk: cassidy config set engine.key none")
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return nil, value.Errorf(value.Unavailable, "Temporal at %s cannot be reached: %w", o.HostPort, err).WithHint("start a server for development: temporal server start-dev; or set engine.address or engine.profile; or execute runs on this machine: --engine local")
	}
	s, err := temporal.New(temporal.Options{
		Client: c, Namespace: o.Namespace, Converter: o.DataConverter, Blobs: temporal.Folder{Path: e.Blobs, Key: key},
		Queue: func(r journal.Row) string { return queueOf(e.Queue, r.Project) },
	})
	if err != nil {
		c.Close()
		return nil, err
	}
	d := &deployment{c, s, e.Queue, o.Namespace}
	return &app.Deployment{Store: s, Close: d.close, Work: d.work}, nil
}

// queueOf returns the queue of the runs of a project: that of the config, or one for each checkout, as its files are on one
// machine. Runs without a project can be executed anywhere.
func queueOf(configured, root string) string {
	switch {
	case configured != "":
		return configured
	case root == "":
		return temporal.Queue
	}
	sum := sha256.Sum256([]byte(root))
	name, _ := os.Hostname()
	return fmt.Sprintf("%s-%s-%s@%s", temporal.Queue, filepath.Base(root), hex.EncodeToString(sum[:4]), name)
}

// A deployment is a connection to a server of Temporal.
type deployment struct {
	client    client.Client
	store     *temporal.Store
	queue     string // of the config
	namespace string
}

func (d *deployment) close() error {
	err := d.store.Close()
	d.client.Close()
	return err
}

// work executes runs until ctx ends.
func (d *deployment) work(ctx context.Context, w app.Work) (err error) {
	var queues, warnings []string
	seen := map[string]bool{}
	for _, root := range append(w.Roots, "") {
		if q := queueOf(d.queue, root); !seen[q] {
			seen[q] = true
			queues = append(queues, q)
		}
	}
	failed := make(chan error, len(queues))
	for _, q := range queues {
		made := d.store.Worker(temporal.Work{
			Queue: q, Jobs: w.Jobs,
			Host:    func(string) (*host.Host, error) { return w.Host, nil },
			Resume:  func(ctx context.Context, _ *host.Host, r host.Recorded) (tool.Result, error) { return w.Resume(ctx, r) },
			Options: worker.Options{WorkerStopTimeout: w.Grace, OnFatalError: func(err error) { failed <- err }},
		})
		if err := made.Start(); err != nil {
			return value.Errorf(value.Unavailable, "start a worker on the queue %s: %w", q, err)
		}
		defer made.Stop()
		if text := d.starves(ctx, q); text != "" {
			warnings = append(warnings, text)
		}
	}
	w.Began(queues, warnings)
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return value.Errorf(value.Unavailable, "the worker has ended: %w", err)
	}
}

// starves says why a queue would give this worker no work, or "".
func (d *deployment) starves(ctx context.Context, queue string) string {
	r, err := d.client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: d.namespace, TaskQueue: &taskqueue.TaskQueue{Name: queue}, TaskQueueType: enums.TASK_QUEUE_TYPE_WORKFLOW,
	})
	if err != nil {
		return ""
	}
	current := r.GetVersioningInfo().GetCurrentDeploymentVersion()
	if current.GetBuildId() == "" {
		return ""
	}
	return fmt.Sprintf("the queue %s gives work only to build %s of the deployment %s, and this worker has no build: temporal worker deployment set-current-version --deployment-name %s --unversioned",
		queue, current.GetBuildId(), current.GetDeploymentName(), current.GetDeploymentName())
}

// isLoopback reports whether an address is one of this machine.
func isLoopback(address string) bool {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		name = address
	}
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
