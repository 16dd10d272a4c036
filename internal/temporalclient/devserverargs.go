package temporalclient

import "strconv"

// devDynamicConfig lifts the limits of the development server's single history shard: with the defaults every task waits about
// 45 ms after a burst, and timers fire on whole seconds. One partition is enough for a task queue of few workers: with four, of which some
// have no poller at times, one task in a hundred or so waited 2 s.
var devDynamicConfig = [...]string{
	"history.transferProcessorMaxPollRPS=1000",
	"history.timerProcessorMaxPollRPS=1000",
	`history.timerProcessorMaxTimeShift="10ms"`,
	"matching.numTaskqueueReadPartitions=1",
	"matching.numTaskqueueWritePartitions=1",
}

// args is the command line of the server.
func (o DevServerOptions) args() []string {
	args := []string{
		"server", "start-dev",
		"--ip", devHost,
		"--port", strconv.Itoa(o.Port),
		"--log-level", "error",
		"--sqlite-pragma", "journal_mode=WAL",
	}
	if o.DataFile == "" {
		args = append(args, "--sqlite-pragma", "synchronous=OFF")
	} else {
		args = append(args, "--sqlite-pragma", "synchronous=NORMAL", "--db-filename", o.DataFile)
	}
	for _, value := range devDynamicConfig {
		args = append(args, "--dynamic-config-value", value)
	}
	if namespace := o.namespace(); namespace != DefaultNamespace {
		args = append(args, "--namespace", namespace)
	}
	attributes := o.SearchAttributes
	if attributes == nil {
		attributes = SearchAttributes()
	}
	for _, attribute := range attributes {
		args = append(args, "--search-attribute", attribute.Name+"="+attribute.TypeName())
	}
	if o.Headless {
		return append(args, "--headless")
	}
	args = append(args, "--ui-port", strconv.Itoa(o.UIPort))
	if o.CodecEndpoint != "" {
		args = append(args, "--ui-codec-endpoint", o.CodecEndpoint)
	}
	return args
}

// namespace is the namespace to prepare.
func (o DevServerOptions) namespace() string { return firstOf(o.Namespace, DefaultNamespace) }
