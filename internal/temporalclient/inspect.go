package temporalclient

import (
	"context"
	"fmt"
	"time"
)

// Level says how much a finding matters.
type Level string

// Levels of findings.
const (
	LevelOK      Level = "ok"
	LevelWarning Level = "warning"
	LevelError   Level = "error"
)

// Valid reports whether l is one of the levels.
func (l Level) Valid() bool { return l == LevelOK || l == LevelWarning || l == LevelError }

// Finding is one line of a diagnosis.
type Finding struct {
	Level Level `json:"level"`
	// Subject is server, namespace, retention or search_attributes.
	Subject string `json:"subject"`
	Message string `json:"message"`
	// Action says what to do; empty where nothing is to be done.
	Action string `json:"action,omitempty"`
}

const runSetup = "run `holdfast setup`"

// Inspect compares a namespace with what Holdfast needs and changes nothing. Whatever goes wrong is a finding too: the last
// one that could be reached tells why the rest is missing.
func Inspect(ctx context.Context, svc Services, namespace string, retention time.Duration) []Finding {
	if err := askSystemInfo(ctx, svc); err != nil {
		return []Finding{{
			Level: LevelError, Subject: "server", Message: fmt.Sprintf("temporal does not answer: %v", err),
			Action: "start it, or point TEMPORAL_ADDRESS at a running one",
		}}
	}
	findings := []Finding{{Level: LevelOK, Subject: "server", Message: "temporal answers"}}
	state, err := readNamespace(ctx, svc, namespace)
	switch {
	case err != nil:
		return append(findings, Finding{
			Level: LevelError, Subject: "namespace", Message: err.Error(), Action: "check TEMPORAL_NAMESPACE and the credentials",
		})
	case !state.exists:
		return append(findings, Finding{
			Level: LevelError, Subject: "namespace", Message: fmt.Sprintf("namespace %s does not exist", namespace), Action: runSetup,
		})
	}
	findings = append(findings, Finding{Level: LevelOK, Subject: "namespace", Message: fmt.Sprintf("namespace %s exists", namespace)})
	findings = append(findings, judgeRetention(state.retention, max(retention, MinRetention)))
	attributes, err := readAttributes(ctx, svc, namespace)
	if err != nil {
		return append(findings, Finding{
			Level: LevelWarning, Subject: "search_attributes", Message: err.Error(),
			Action: "look at them with the tools of your Temporal provider",
		})
	}
	return append(findings, judgeAttributes(attributes)...)
}

// judgeRetention turns a retention into a finding.
func judgeRetention(have, want time.Duration) Finding {
	if have < want {
		return Finding{
			Level: LevelError, Subject: "retention",
			Message: fmt.Sprintf("closed runs are kept %s, %s is needed", have, want), Action: runSetup,
		}
	}
	return Finding{Level: LevelOK, Subject: "retention", Message: fmt.Sprintf("closed runs are kept %s", have)}
}

// judgeAttributes turns the attributes into findings: one for ours, one for each clash, one for the strangers.
func judgeAttributes(state attributeState) []Finding {
	const subject = "search_attributes"
	var findings []Finding
	for _, clash := range state.clashes {
		findings = append(findings, Finding{
			Level: LevelError, Subject: subject,
			Message: fmt.Sprintf("%s is %s, must be %s", clash.Name, clash.Have, clash.Want),
			Action:  "remove it (`temporal operator search-attribute remove`) or use a namespace of its own",
		})
	}
	if len(state.missing) > 0 {
		findings = append(findings, Finding{
			Level: LevelError, Subject: subject, Message: "missing: " + joinNames(state.missing), Action: runSetup,
		})
	}
	if len(findings) == 0 {
		findings = append(findings, Finding{Level: LevelOK, Subject: subject, Message: "all search attributes exist"})
	}
	if crowding := state.crowded(); len(crowding) > 0 {
		return append(findings, Finding{
			Level: LevelWarning, Subject: subject, Message: "others leave too little room for ours: " + joinNames(crowding),
			Action: "remove them or use a namespace of its own",
		})
	}
	if len(state.strangers) > 0 {
		findings = append(findings, Finding{
			Level: LevelOK, Subject: subject, Message: "others in this namespace: " + joinNames(state.strangers),
		})
	}
	return findings
}
