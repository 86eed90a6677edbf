import { expect, test } from 'vitest'
import { WebSocketGate } from './websocket-gate.ts'

const closeFrame = Buffer.from([0x88, 0x02, 0x03, 0xf4])

function frame(size: number, isMasked = false): Buffer {
  const length =
    size < 126
      ? [size]
      : size < 65_536
        ? [126, size >> 8, size & 255]
        : [127, 0, 0, 0, 0, (size >> 24) & 255, (size >> 16) & 255, (size >> 8) & 255, size & 255]
  const [first = 0, ...more] = length
  const mask = isMasked ? [1, 2, 3, 4] : []
  return Buffer.concat([Buffer.from([0x82, first | (isMasked ? 0x80 : 0), ...more, ...mask]), Buffer.alloc(size, 7)])
}

/** Writes `bytes` to a gate in chunks of `chunkSize`, ends it after `endAfter` bytes, and resolves with the forwarded bytes. */
async function forwardThroughGate(bytes: Buffer, chunkSize: number, endAfter: number): Promise<Buffer> {
  const gate = new WebSocketGate()
  const chunks: Buffer[] = []
  gate.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = new Promise((done) => gate.once('end', done))
  if (endAfter === 0) gate.endBetweenFrames()
  for (let offset = 0; offset < bytes.length; offset += chunkSize) {
    gate.write(bytes.subarray(offset, offset + chunkSize))
    await new Promise((done) => setImmediate(done))
    if (offset + chunkSize >= endAfter) gate.endBetweenFrames()
  }
  await ended
  return Buffer.concat(chunks)
}

test.each([0, 5, 125, 126, 300, 65_535, 70_000])(
  'the close frame follows a complete frame of %i bytes',
  async (size) => {
    for (const isMasked of [false, true]) {
      const [first, second] = [frame(size, isMasked), frame(9)]
      for (const chunkSize of [7, 1_000, 1_000_000]) {
        const midFrame = Math.max(1, Math.min(chunkSize, first.length - 1))
        const output = await forwardThroughGate(Buffer.concat([first, second, second]), chunkSize, midFrame)
        const frames = chunkSize >= first.length + 2 * second.length ? [first, second, second] : null
        expect(output.subarray(-4)).toEqual(closeFrame)
        const forwardedBytes = output.subarray(0, -4)
        if (frames) expect(forwardedBytes).toEqual(Buffer.concat(frames))
        else
          expect([first.length, first.length + second.length, first.length + 2 * second.length]).toContain(
            forwardedBytes.length,
          )
        expect(forwardedBytes.subarray(0, first.length)).toEqual(first)
      }
    }
  },
)

test('a stream between frames ends immediately, and further data of the squid is dropped', async () => {
  expect(await forwardThroughGate(frame(10), 4, 0)).toEqual(closeFrame)
})

test('everything is forwarded until the squid ends the stream', async () => {
  const gate = new WebSocketGate()
  const chunks: Buffer[] = []
  gate.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = new Promise((done) => gate.once('end', done))
  const bytes = Buffer.concat([frame(3), frame(200), Buffer.from('anything')])
  gate.end(bytes)
  await ended
  expect(Buffer.concat(chunks)).toEqual(bytes)
})
