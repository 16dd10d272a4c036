package telemetry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/telemetry"
)

const canary = "ghp_canary0123456789canary0123456789"

// stringer has a text of its own.
type stringer struct{ text string }

func (s *stringer) String() string { return "said " + s.text }

// valuer logs as a group.
type valuer struct{ text string }

func (v valuer) LogValue() slog.Value { return slog.GroupValue(slog.String("inner", v.text)) }

func TestNoSecretSurvivesInALog(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]slog.Attr{
		"text":          slog.String(telemetry.KeyReason, "token "+canary),
		"error":         slog.Any(telemetry.KeyError, fmt.Errorf("call: %w", errors.New("with "+canary))),
		"stringer":      slog.Any(telemetry.KeyReason, &stringer{canary}),
		"log valuer":    slog.Any(telemetry.KeyReason, valuer{canary}),
		"group":         slog.Group("request", slog.String("query", canary)),
		"map":           slog.Any("headers", map[string]any{"Authorization": "plain-canary", "x": canary}),
		"struct":        slog.Any("config", struct{ Text string }{canary}),
		"bytes":         slog.Any("body", []byte(canary)),
		"sensitive key": slog.String("password", "plain-canary"),
		"header text":   slog.String(telemetry.KeyReason, "Authorization: Bearer plain-canary"),
	} {
		for _, format := range []telemetry.Format{telemetry.FormatText, telemetry.FormatJSON} {
			t.Run(name+" as "+string(format), func(t *testing.T) {
				t.Parallel()
				var written bytes.Buffer
				logger, err := telemetry.NewLogger(&written, format, slog.LevelInfo)
				require.NoError(t, err)

				logger.LogAttrs(t.Context(), slog.LevelInfo, "something happened", tc)
				logger.With(tc.Key, tc.Value).WithGroup("group").LogAttrs(t.Context(), slog.LevelInfo, "with "+canary, tc)

				require.Contains(t, written.String(), "something happened")
				require.NotContains(t, written.String(), "canary")
			})
		}
	}
}

func TestOurKeysDoNotHideTheirValues(t *testing.T) {
	t.Parallel()
	snakeCase := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	for _, key := range telemetry.Keys() {
		require.Regexp(t, snakeCase, key)
		var written bytes.Buffer
		logger, err := telemetry.NewLogger(&written, telemetry.FormatJSON, slog.LevelInfo)
		require.NoError(t, err)

		logger.LogAttrs(t.Context(), slog.LevelInfo, "m", slog.String(key, "plain value"))

		var line map[string]any
		require.NoError(t, json.Unmarshal(written.Bytes(), &line))
		require.Equal(t, "plain value", line[key])
	}
}

func TestNumbersAndTimesKeepTheirKind(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	logger, err := telemetry.NewLogger(&written, telemetry.FormatJSON, slog.LevelInfo)
	require.NoError(t, err)

	logger.Info("m", telemetry.KeyAttempt, 3, telemetry.KeyLatency, time.Second, telemetry.KeyRetryable, true)

	var line map[string]any
	require.NoError(t, json.Unmarshal(written.Bytes(), &line))
	require.InDelta(t, 3, line[telemetry.KeyAttempt], 0)
	require.InDelta(t, float64(time.Second), line[telemetry.KeyLatency], 0)
	require.Equal(t, true, line[telemetry.KeyRetryable])
}

func TestALogLineNeverEndsTheProcess(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	logger, err := telemetry.NewLogger(&written, telemetry.FormatText, slog.LevelInfo)
	require.NoError(t, err)
	var nobody *stringer

	logger.Info("m", telemetry.KeyReason, nobody, telemetry.KeyError, nil)

	require.Contains(t, written.String(), "reason=<nil>")
}

func TestLevelAndFormatAreHonoured(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	logger, err := telemetry.NewLogger(&written, "", slog.LevelWarn)
	require.NoError(t, err)
	logger.Info("quiet")
	require.Empty(t, written.String())

	_, err = telemetry.NewLogger(&written, "xml", slog.LevelWarn)
	require.ErrorContains(t, err, "xml")
}

func TestSDKLoggerWritesThroughTheRedactor(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	logger, err := telemetry.NewLogger(&written, telemetry.FormatText, slog.LevelInfo)
	require.NoError(t, err)

	telemetry.SDKLogger(logger).Error("Activity error.", "Error", errors.New("because of "+canary))

	require.Contains(t, written.String(), "Activity error.")
	require.NotContains(t, written.String(), canary)
}
