package temporalclient

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tink-crypto/tink-go/v2/tink"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
)

// Defaults that hold where neither the options, a profile nor a TEMPORAL_* variable says otherwise.
const (
	DefaultAddress     = "127.0.0.1:7233"
	DefaultNamespace   = "default"
	DefaultDialTimeout = 15 * time.Second
)

// ErrNoSealingKey says that a client was asked for without a keyset to seal its payloads.
var ErrNoSealingKey = errors.New("seal payloads: no AEAD keyset given; pass one, or ask for plain payloads explicitly")

// Options describe one client. Connection settings come from the profile file and the TEMPORAL_* variables; Address and
// Namespace win over both when they are not empty.
type Options struct {
	// Role and Version make the identity that shows in histories: holdfast-<role>@<version>/<host>.
	Role    string
	Version string

	Address   string
	Namespace string

	// AEAD seals payloads and failures. It may be nil only with Plain.
	AEAD  tink.AEAD
	Plain bool

	Logger       log.Logger
	Metrics      client.MetricsHandler
	Interceptors []interceptor.ClientInterceptor

	// DialTimeout bounds the wait for the server; zero means DefaultDialTimeout.
	DialTimeout time.Duration

	// Env overrides the process environment, ConfigFile the path of the profile file; NoConfigFile reads none.
	Env          envconfig.EnvLookup
	ConfigFile   string
	NoConfigFile bool
}

// Identity is the name under which this client appears in histories. It holds no secret and no process id, so that two runs
// of one build on one host look alike.
func (o Options) Identity() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown-host"
	}
	role, version := o.Role, o.Version
	if role == "" {
		role = "client"
	}
	if version == "" {
		version = "dev"
	}
	return fmt.Sprintf("holdfast-%s@%s/%s", role, version, host)
}

// ClientOptions resolves the options into what the SDK wants. It opens no connection.
func (o Options) ClientOptions() (client.Options, error) {
	if o.AEAD == nil && !o.Plain {
		return client.Options{}, ErrNoSealingKey
	}
	resolved, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{
		ConfigFilePath:   o.ConfigFile,
		ConfigFileStrict: true,
		DisableFile:      o.NoConfigFile,
		EnvLookup:        o.Env,
	})
	if err != nil {
		return client.Options{}, fmt.Errorf("read temporal settings (profile file and TEMPORAL_* variables): %w", err)
	}
	resolved.HostPort = firstOf(o.Address, resolved.HostPort, DefaultAddress)
	resolved.Namespace = firstOf(o.Namespace, resolved.Namespace, DefaultNamespace)
	resolved.Identity = o.Identity()
	resolved.Logger = o.Logger
	resolved.MetricsHandler = o.Metrics
	resolved.Interceptors = append(resolved.Interceptors, o.Interceptors...)
	resolved.DataConverter = converter.GetDefaultDataConverter()
	if o.AEAD != nil {
		resolved.DataConverter = DataConverter(o.AEAD)
		// What is sealed does not compress; trying took 7 % of a worker's processor time.
		resolved.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	}
	resolved.FailureConverter = FailureConverter(resolved.DataConverter)
	return resolved, nil
}

// dialTimeout is the bound of the wait for the server.
func (o Options) dialTimeout() time.Duration {
	if o.DialTimeout > 0 {
		return o.DialTimeout
	}
	return DefaultDialTimeout
}

// firstOf returns the first string that is not empty.
func firstOf(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}
