package httptarget

import (
	"bufio"
	"encoding/binary"
	"io"
	"strconv"
)

// The frames of HTTP/2 (RFC 9113, section 6).
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	framePriority     = 0x2
	frameReset        = 0x3
	frameSettings     = 0x4
	framePush         = 0x5
	framePing         = 0x6
	frameGoAway       = 0x7
	frameWindow       = 0x8
	frameContinuation = 0x9
)

// Their flags.
const (
	flagAck        = 0x1
	flagEndStream  = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// The settings that are told or listened to.
const (
	settingPush       = 0x2
	settingMaxStreams = 0x3
	settingWindow     = 0x4
	settingMaxFrame   = 0x5
	settingMaxHead    = 0x6
)

const (
	// frameHead is what stands before a frame's payload, in bytes.
	frameHead = 9
	// maxFrame bounds a frame's payload in both directions, in bytes: what every
	// HTTP/2 speaker takes without being asked.
	maxFrame = 16 << 10
	// maxWindow is the most that a window may ever be.
	maxWindow = 1<<31 - 1
	// preface is what a client's side of a connection begins with.
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// frame is one frame as it was read. Its payload is good until the next is.
type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

func (f *frame) has(flag byte) bool { return f.flags&flag != 0 }

// breach is a target that does not keep to HTTP/2, in our words.
type breach struct{ what string }

// Error says what it did.
func (b *breach) Error() string { return b.what }

// readFrame reads one frame into buf, which holds maxFrame bytes. The end of the
// connection between two frames is io.EOF, within one io.ErrUnexpectedEOF.
func readFrame(r *bufio.Reader, buf []byte) (frame, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	size := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	f := frame{kind: head[3], flags: head[4], stream: binary.BigEndian.Uint32(head[5:]) & maxWindow}
	if size > maxFrame {
		return f, &breach{"a frame is longer than it may be"}
	}
	f.payload = buf[:size]
	if _, err := io.ReadFull(r, f.payload); err != nil {
		if err == io.EOF { //nolint:errorlint // ReadFull returns it as it is
			err = io.ErrUnexpectedEOF
		}
		return f, err
	}
	return f, nil
}

// unpadded takes padding off a frame's payload.
func (f *frame) unpadded() ([]byte, error) {
	p := f.payload
	if !f.has(flagPadded) {
		return p, nil
	}
	if len(p) == 0 || int(p[0]) > len(p)-1 {
		return nil, &breach{"a frame has more padding than it is long"}
	}
	return p[1 : len(p)-int(p[0])], nil
}

// appendFrame adds a frame.
func appendFrame(b []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	n := len(payload)
	b = append(b, byte(n>>16), byte(n>>8), byte(n), kind, flags)
	b = binary.BigEndian.AppendUint32(b, stream)
	return append(b, payload...)
}

// appendSetting adds one setting to a payload.
func appendSetting(b []byte, id uint16, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, id), value)
}

// appendWindow adds a WINDOW_UPDATE; stream 0 is the connection's.
func appendWindow(b []byte, stream, more uint32) []byte {
	return appendFrame(b, frameWindow, 0, stream, binary.BigEndian.AppendUint32(nil, more))
}

// appendHead adds a header block in as many frames as it needs.
func appendHead(b []byte, stream uint32, block []byte, last bool) []byte {
	kind, flags := byte(frameHeaders), byte(0)
	if last {
		flags = flagEndStream
	}
	for len(block) > maxFrame {
		b = appendFrame(b, kind, flags, stream, block[:maxFrame])
		block, kind, flags = block[maxFrame:], frameContinuation, 0
	}
	return appendFrame(b, kind, flags|flagEndHeaders, stream, block)
}

// appendData adds a part of a body in as many frames as it needs.
func appendData(b []byte, stream uint32, part []byte, last bool) []byte {
	for len(part) > maxFrame {
		b = appendFrame(b, frameData, 0, stream, part[:maxFrame])
		part = part[maxFrame:]
	}
	flags := byte(0)
	if last {
		flags = flagEndStream
	}
	return appendFrame(b, frameData, flags, stream, part)
}

const (
	// codeRefused is REFUSED_STREAM: the target says that it did nothing.
	codeRefused = 0x7
	// codeHTTP1 is HTTP_1_1_REQUIRED.
	codeHTTP1 = 0xd
)

// codeName is the protocol's name of a code.
func codeName(code uint32) string {
	names := []string{
		"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
		"REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
	}
	if code < uint32(len(names)) {
		return names[code]
	}
	return "code " + strconv.FormatUint(uint64(code), 10)
}
