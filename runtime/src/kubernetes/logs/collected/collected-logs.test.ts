import { expect, onTestFinished, test, vi } from 'vitest'
import { gzipSync } from 'node:zlib'
import type { LogBatch, LogCursor } from '../../../driver.ts'
import type { ClusterState } from '../../state/cluster-state.ts'
import { readCollectedLogs } from './collected-logs.ts'
import { LogListener } from './log-listener.ts'

const token = 'a-token-of-24-characters'
const uid = 'f7d97e34-f935-463b-a1a5-1bc8d6e752b6'
const pathIn = (namespace: string) => `/var/log/pods/${namespace}_w12-3-0123abcd-0123456789-x7k2p_${uid}/api/0.log`

async function open() {
  const listener = new LogListener({ host: '127.0.0.1', port: 0, token })
  await listener.start()
  onTestFinished(() => listener.close())
  const state = { workloads: [], findById: () => undefined } as unknown as ClusterState
  const logs = (from: LogCursor, signal: AbortSignal, admits?: () => boolean) =>
    readCollectedLogs({ listener, state, installation: 'a' }, from, signal, admits)
  return { logs, url: `http://127.0.0.1:${listener.port}/v1/logs` }
}

/** Lines as the collector sends them, from `first` on. */
function bodyOf(first: number, count: number, path = pathIn('shoal-a-o7')): string {
  const logRecords = Array.from({ length: count }, (_, i) => {
    const text = `2026-01-01T00:00:00.${String(first + i).padStart(9, '0')}Z stdout F ${first + i}`
    const offset = (first + i) * (text.length + 1)
    const attributes = [
      { key: 'log.file.path', value: { stringValue: path } },
      { key: 'log.file.record_offset', value: { intValue: String(offset) } },
    ]
    return { body: { stringValue: text }, attributes }
  })
  return JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })
}

const send = (url: string, body: string | Buffer<ArrayBuffer>, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
  })

test('a request succeeds only when its lines are stored, and lines that are sent again are skipped', async () => {
  const { logs, url } = await open()
  // Collectors keep the lines while no process stores them.
  expect((await send(url, bodyOf(1, 3))).status).toBe(503)
  const ending = new AbortController()
  let cursor: LogCursor = {}
  const batches: LogBatch[] = []
  const first = logs({}, ending.signal)[Symbol.asyncIterator]()
  const next = first.next()
  const response = send(url, bodyOf(1, 3))
  const { value } = (await next) as { value: LogBatch }
  expect(value.lines.map(({ workload, container, text }) => `${workload}/${container} ${text}`)).toEqual([
    '12.3/api 1',
    '12.3/api 2',
    '12.3/api 3',
  ])
  // The process ends before it has stored the lines.
  await first.return?.()
  expect((await response).status).toBe(503)

  const reading = (async () => {
    for await (const batch of logs(cursor, ending.signal)) {
      batches.push(batch)
      cursor = { ...cursor, ...batch.cursor }
    }
  })()
  expect((await send(url, bodyOf(1, 3))).status).toBe(200)
  expect((await send(url, gzipSync(bodyOf(2, 4)), { 'content-encoding': 'gzip' })).status).toBe(200)
  expect(batches.flatMap(({ lines }) => lines.map(({ text }) => text))).toEqual(['1', '2', '3', '4', '5'])
  expect(Object.keys(cursor)).toEqual([`${uid}/0`])
  ending.abort()
  await reading
})

test('the lines of a batch are delivered in the order of their times', async () => {
  const { logs, url } = await open()
  const iterator = logs({}, new AbortController().signal)[Symbol.asyncIterator]()
  const next = iterator.next()
  const records = (JSON.parse(bodyOf(1, 4)) as { resourceLogs: { scopeLogs: { logRecords: unknown[] }[] }[] })
    .resourceLogs
  const logRecords = records[0]?.scopeLogs[0]?.logRecords ?? []
  const response = send(
    url,
    JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: logRecords.toReversed() }] }] }),
  )
  const { value } = (await next) as { value: LogBatch }
  expect(value.lines.map(({ text }) => text)).toEqual(['1', '2', '3', '4'])
  void iterator.next()
  expect((await response).status).toBe(200)
})

test('lines that are not admitted are counted, and lines of other programs are ignored', async () => {
  const { logs, url } = await open()
  const iterator = logs({}, new AbortController().signal, () => false)[Symbol.asyncIterator]()
  const next = iterator.next()
  const other = send(url, bodyOf(1, 1, pathIn('shoal-b-o7')))
  const refused = send(url, bodyOf(1, 2))
  const { value } = (await next) as { value: LogBatch }
  expect(value).toMatchObject({
    lines: [],
    dropped: [{ workload: '12.3', container: 'api', lines: 2, isEstimate: false }],
  })
  void iterator.next()
  for (const response of [other, refused]) expect((await response).status).toBe(200)
})

test('lines that do not arrive within a minute are reported once, with their period', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const { logs, url } = await open()
  const ending = new AbortController()
  let cursor: LogCursor = {}
  const lost: unknown[] = []
  const read = async () => {
    for await (const batch of logs(cursor, ending.signal)) {
      lost.push(...(batch.lost ?? []))
      cursor = { ...cursor, ...batch.cursor }
    }
  }
  const reading = read()
  const sendAt = async (second: number, first: number) => {
    vi.setSystemTime(Date.UTC(2026, 0, 1, 0, 0, second))
    expect((await send(url, bodyOf(first, 10))).status).toBe(200)
  }
  await sendAt(0, 0)
  await sendAt(20, 5000)
  await sendAt(60, 5010)
  expect(lost).toEqual([])
  await sendAt(120, 5020)
  const at = new Date('2026-01-01T00:00:00.000Z')
  expect(lost).toEqual([{ workload: '12.3', container: 'api', from: at, to: at, isCertain: true }])
  await sendAt(300, 5030)
  expect(lost).toHaveLength(1)
  ending.abort()
  await reading
})

test.each([
  ['another token', {}, { authorization: 'Bearer other' }, 401],
  ['no token', {}, { authorization: '' }, 401],
  ['another encoding', {}, { 'content-type': 'application/x-protobuf' }, 415],
  ['an invalid body', { body: '{' }, {}, 400],
  ['a large body', { body: 'x'.repeat(9 * 1024 * 1024) }, {}, 413],
  [
    'a body that is too large after decompression',
    { body: gzipSync(Buffer.alloc(65 * 1024 * 1024)) },
    { 'content-encoding': 'gzip' },
    400,
  ],
])('a request with %s is refused', async (_, { body }: { body?: string | Buffer<ArrayBuffer> }, headers, status) => {
  const { logs, url } = await open()
  const iterator = logs({}, new AbortController().signal)[Symbol.asyncIterator]()
  void iterator.next()
  const response = await send(url, body ?? bodyOf(1, 1), headers)
  expect(response.status).toBe(status)
})
