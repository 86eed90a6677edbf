import { expect, test } from 'vitest'
import { WebSocketGate } from './websocket-gate.ts'

const close = Buffer.from([0x88, 0x02, 0x03, 0xf4])

function frame(size: number, masked = false): Buffer {
  const length =
    size < 126
      ? [size]
      : size < 65_536
        ? [126, size >> 8, size & 255]
        : [127, 0, 0, 0, 0, (size >> 24) & 255, (size >> 16) & 255, (size >> 8) & 255, size & 255]
  const [first = 0, ...more] = length
  const mask = masked ? [1, 2, 3, 4] : []
  return Buffer.concat([Buffer.from([0x82, first | (masked ? 0x80 : 0), ...more, ...mask]), Buffer.alloc(size, 7)])
}

/** Sends `bytes` in pieces of `pieceSize`, ends the gate after `endAfter` bytes, and returns the forwarded bytes. */
async function through(bytes: Buffer, pieceSize: number, endAfter: number): Promise<Buffer> {
  const gate = new WebSocketGate()
  const chunks: Buffer[] = []
  gate.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = new Promise((done) => gate.once('end', done))
  if (endAfter === 0) gate.endBetweenFrames()
  for (let at = 0; at < bytes.length; at += pieceSize) {
    gate.write(bytes.subarray(at, at + pieceSize))
    await new Promise((done) => setImmediate(done))
    if (at + pieceSize >= endAfter) gate.endBetweenFrames()
  }
  await ended
  return Buffer.concat(chunks)
}

test.each([0, 5, 125, 126, 300, 65_535, 70_000])(
  'the close frame follows a complete frame of %i bytes',
  async (size) => {
    for (const masked of [false, true]) {
      const [one, other] = [frame(size, masked), frame(9)]
      for (const pieceSize of [7, 1_000, 1_000_000]) {
        const midFrame = Math.max(1, Math.min(pieceSize, one.length - 1))
        const forwarded = await through(Buffer.concat([one, other, other]), pieceSize, midFrame)
        const frames = pieceSize >= one.length + 2 * other.length ? [one, other, other] : null
        expect(forwarded.subarray(-4)).toEqual(close)
        const passed = forwarded.subarray(0, -4)
        if (frames) expect(passed).toEqual(Buffer.concat(frames))
        else expect([one.length, one.length + other.length, one.length + 2 * other.length]).toContain(passed.length)
        expect(passed.subarray(0, one.length)).toEqual(one)
      }
    }
  },
)

test('between frames it ends immediately, and further data of the squid is dropped', async () => {
  expect(await through(frame(10), 4, 0)).toEqual(close)
})

test('it forwards everything until the squid ends', async () => {
  const gate = new WebSocketGate()
  const chunks: Buffer[] = []
  gate.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = new Promise((done) => gate.once('end', done))
  const bytes = Buffer.concat([frame(3), frame(200), Buffer.from('anything')])
  gate.end(bytes)
  await ended
  expect(Buffer.concat(chunks)).toEqual(bytes)
})
