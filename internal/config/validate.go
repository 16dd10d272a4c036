package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Validate checks all settings. The error joins one error for each fault, naming the setting and its variable.
func (c *Config) Validate() error {
	names := map[string]string{}
	for _, setting := range Settings() {
		names[setting.Path] = setting.name()
	}
	v := &validator{names: names}
	v.paths(c)
	v.temporal(c.Temporal)
	v.inspect(c.Inspect)
	v.duration("engine.timeout", c.Engine.Timeout, 100*time.Millisecond, 10*time.Minute)
	v.duration("endpoint.timeout", c.Endpoint.Timeout, time.Millisecond, 10*time.Minute)
	v.worker(c.Worker)
	v.duration("fleet.interval", c.Fleet.Interval, 5*time.Second, 24*time.Hour)
	v.gateway(c.Gateway)
	v.oidc(c.OIDC, c.Gateway.PublicURL)
	v.file("sources.file", c.Sources.File)
	v.file("policy.file", c.Policy.File)
	v.sessions(c.Sessions)
	v.approvals(c.Approvals, c.Temporal)
	v.codec(c.Codec)
	v.log(c.Log)
	return errors.Join(v.faults...)
}

type validator struct {
	names map[string]string

	faults []error
}

func (v *validator) require(holds bool, path, format string, args ...any) {
	if !holds {
		v.faults = append(v.faults, fmt.Errorf("%s: %s", v.names[path], fmt.Sprintf(format, args...)))
	}
}

func (v *validator) duration(path string, value, low, high time.Duration) {
	v.require(value >= low && value <= high, path, "%s is out of range: give %s to %s", value, low, high)
}

func (v *validator) paths(c *Config) {
	v.require(c.DataDir != "" || (c.Store.Path != "" && c.Keys.Dir != ""), "data_dir",
		"there is neither XDG_DATA_HOME nor HOME to put it in: name a folder")
	if c.DataDir != "" {
		v.require(c.Store.Path != "", "store.path", "name a file")
		v.require(c.Keys.Dir != "", "keys.dir", "name a folder")
	}
}

func (v *validator) file(path, name string) {
	v.require(strings.TrimSpace(name) == name, path, "give a file's name without blanks around it")
}

func (v *validator) temporal(t Temporal) {
	v.require(t.TaskQueue != "" && len(t.TaskQueue) <= 200 && strings.TrimSpace(t.TaskQueue) == t.TaskQueue, "temporal.task_queue",
		"give 1 to 200 characters without blanks around them")
	v.duration("temporal.namespace_retention", t.NamespaceRetention, 24*time.Hour, 10*365*24*time.Hour)
}

func (v *validator) inspect(i Inspect) {
	v.duration("inspect.poll_interval", i.PollInterval, time.Second, 24*time.Hour)
	v.duration("inspect.probe_interval", i.ProbeInterval, time.Second, 24*time.Hour)
	v.require(i.Jitter >= 0 && i.Jitter <= 0.5, "inspect.jitter", "%v is out of range: give 0 to 0.5", i.Jitter)
}

func (v *validator) worker(w Worker) {
	v.duration("worker.stop_timeout", w.StopTimeout, 0, 10*time.Minute)
	v.require(w.MaxActivities >= 1 && w.MaxActivities <= 100_000, "worker.max_activities",
		"%d is out of range: give 1 to 100000", w.MaxActivities)
	v.require(w.MaxWorkflows >= 10 && w.MaxWorkflows <= 1_000_000, "worker.max_workflows",
		"%d is out of range: give 10 to 1000000", w.MaxWorkflows)
	v.address("worker.health_listen", w.HealthListen)
}

func (v *validator) codec(c Codec) {
	v.address("codec.listen", c.Listen)
	v.require(c.PathSecret == "" || pathSecretPattern.MatchString(c.PathSecret.Reveal()), "codec.path_secret",
		"give at least 16 of A-Z a-z 0-9 - _")
	v.require(c.PathSecret == "" || c.PathSecretFile == "", "codec.path_secret_file", "give the secret or its file, not both")
	v.require(Loopback(c.Listen) || c.PathSecret != "" || c.PathSecretFile != "", "codec.listen",
		"others can reach this address: set codec.path_secret or codec.path_secret_file, or listen on 127.0.0.1")
	v.origins("codec.origins", c.Origins)
}

func (v *validator) gateway(g Gateway) {
	v.address("gateway.listen", g.Listen)
	switch g.Auth {
	case AuthToken:
	case AuthNone:
		v.require(Loopback(g.Listen), "gateway.auth",
			"others can reach %s: set it to token and make one: holdfast token create --role owner --name NAME", g.Listen)
	default:
		v.require(false, "gateway.auth", "%q is no way to tell who asks: give token or none", g.Auth)
	}
	for i, host := range g.Hosts {
		v.require(isHost(host), "gateway.hosts", "entry %d is no host: write a name or an address only, such as holdfast.example.com", i+1)
	}
	v.origins("gateway.origins", g.Origins)
	v.require(g.PublicURL == "" || isOrigin(g.PublicURL), "gateway.public_url",
		"it is no exact origin: write scheme, host and port only, such as https://holdfast.example.com")
}

func (v *validator) origins(path string, origins []string) {
	for i, origin := range origins {
		v.require(isOrigin(origin), path, // not quoted: it may hold a password
			"entry %d is no exact origin: write scheme, host and port only, such as http://localhost:8233", i+1)
	}
}

func (v *validator) log(l Log) {
	switch l.Level {
	case "debug", "info", "warn", "error":
	default:
		v.require(false, "log.level", "%q is no level: give debug, info, warn or error", l.Level)
	}
	v.require(l.Format == FormatText || l.Format == FormatJSON, "log.format", "%q is no format: give text or json", l.Format)
}

func (v *validator) address(path, address string) {
	_, port, err := net.SplitHostPort(address)
	number, convErr := strconv.ParseUint(port, 10, 16)
	v.require(err == nil && convErr == nil, path, "%q is no address: give host:port, such as 127.0.0.1:%d", address, max(number, 8234))
}

// Loopback reports whether only this machine can reach an address, as a setting has it. What is no address counts as one: it is
// reported as such.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return true
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// isHost takes a name or an IP address, without port.
func isHost(text string) bool {
	if net.ParseIP(text) != nil {
		return true
	}
	parsed, err := url.Parse("http://" + text)
	return err == nil && text != "" && parsed.Host == text && parsed.Port() == "" && !strings.ContainsAny(text, "*:")
}

// isOrigin compares with the form that browsers send, since the comparison with a request's Origin is exact.
func isOrigin(text string) bool {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return false
	}
	return text == parsed.Scheme+"://"+strings.ToLower(parsed.Host) && !strings.Contains(text, "*")
}
