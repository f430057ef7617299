package secret

import (
	"fmt"
	"log/slog"
)

// mask is what every printed form of a Value says.
const mask = "***"

// Value is a secret in memory. It prints as ***; the zero Value is empty.
// Values are immutable and may be copied.
//
// The bytes are held by a function and not by a field: fmt and its kind read
// unexported fields of whatever holds a Value past its methods, but cannot
// look into a function.
type Value struct{ reveal func() []byte }

// New keeps a copy of b as a Value.
func New(b []byte) Value {
	held := append([]byte(nil), b...)
	return Value{reveal: func() []byte { return held }}
}

// Reveal returns a copy of the secret. The caller answers for where it goes.
func (v Value) Reveal() []byte {
	if v.reveal == nil {
		return nil
	}
	return append([]byte(nil), v.reveal()...)
}

// IsEmpty says whether there is no byte in it.
func (v Value) IsEmpty() bool { return v.reveal == nil || len(v.reveal()) == 0 }

// Format prints *** for every verb and flag, %#v and %x among them.
func (v Value) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(mask)) }

// String returns ***.
func (v Value) String() string { return mask }

// GoString returns ***.
func (v Value) GoString() string { return mask }

// MarshalText returns ***; JSON, XML and YAML encoders use it.
func (v Value) MarshalText() ([]byte, error) { return []byte(mask), nil }

// MarshalBinary returns ***; gob uses it.
func (v Value) MarshalBinary() ([]byte, error) { return []byte(mask), nil }

// LogValue returns ***.
func (v Value) LogValue() slog.Value { return slog.StringValue(mask) }
