package config

import "time"

const (
	day = 24 * time.Hour
	// approvalRetentionMargin is how much longer Temporal keeps a closed execution than its outcome is promised.
	approvalRetentionMargin = day
)

// Sessions says how long MCP sessions are kept awake, and how long they are kept.
type Sessions struct {
	Start         time.Duration `yaml:"start" default:"3s" doc:"time for which a new session waits for Temporal before its client is told to try again, 1s to 30s"`
	Idle          time.Duration `yaml:"idle" default:"5m" doc:"idle time after which a session sleeps, 1s to 24h; it wakes with the next request"`
	PausedIdle    time.Duration `yaml:"paused_idle" default:"9m" doc:"idle time after which it sleeps although calls of it wait for a person, which go on waiting; at least idle"`
	RunningIdle   time.Duration `yaml:"running_idle" default:"35m" doc:"idle time after which it sleeps although requests or streams are open; at least idle"`
	Retention     time.Duration `yaml:"retention" default:"168h" doc:"time without use after which a session ends for good, 1m to 8760h"`
	AbsoluteLimit time.Duration `yaml:"absolute_limit" default:"720h" doc:"age at which a session ends for good, at least retention"`
}

// Approvals says how long people may take, and how long what they decided can be read.
type Approvals struct {
	Window    time.Duration `yaml:"window" default:"4m" doc:"time a person has to decide where no rule says otherwise, 1s to 720h"`
	Hold      time.Duration `yaml:"hold" default:"50s" doc:"time for which a caller is held before it is told that its call goes on, 1s to 5m; many clients give up after 60s"`
	Retention time.Duration `yaml:"retention" default:"168h" doc:"time for which an outcome can be asked for, 1h to 8760h; at least 24h less than temporal.namespace_retention"`
}

func (v *validator) sessions(s Sessions) {
	v.duration("sessions.start", s.Start, time.Second, 30*time.Second)
	v.duration("sessions.idle", s.Idle, time.Second, day)
	v.duration("sessions.paused_idle", s.PausedIdle, s.Idle, 365*day)
	v.duration("sessions.running_idle", s.RunningIdle, s.Idle, 365*day)
	v.duration("sessions.retention", s.Retention, time.Minute, 365*day)
	v.duration("sessions.absolute_limit", s.AbsoluteLimit, s.Retention, 3650*day)
}

func (v *validator) approvals(a Approvals, t Temporal) {
	v.duration("approvals.window", a.Window, time.Second, 30*day)
	v.duration("approvals.hold", a.Hold, time.Second, 5*time.Minute)
	v.duration("approvals.retention", a.Retention, time.Hour, 365*day)
	v.require(t.NamespaceRetention < day || a.Retention+approvalRetentionMargin <= t.NamespaceRetention, "approvals.retention",
		"Temporal forgets closed workflows after %s: give at most %s, or raise temporal.namespace_retention",
		t.NamespaceRetention, t.NamespaceRetention-approvalRetentionMargin)
}
