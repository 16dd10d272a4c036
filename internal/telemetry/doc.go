// Package telemetry is how a Holdfast process reports what it does: structured logs in which no secret survives, Prometheus
// metrics of its own and of the Temporal SDK, and traces over OTLP when an endpoint for them is configured.
//
// The worker, the gateway and the command line make one Telemetry each and hand its logger, metrics handler and interceptors to
// everything else; nothing here touches a global.
package telemetry
