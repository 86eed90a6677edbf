import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// The baseline of the benchmark `idle`: responds to requests on one unix socket per processor and api, as the `sim` runtime does, and sends
// each a request at the intervals at which the server probes them, over a new connection. Ends with SIGTERM.
// Arguments: the number of versions, the interval of processors, that of apis, in ms.

const [versions = 0, processorsMs = 0, apisMs = 0] = process.argv.slice(2).map(Number)
const dir = mkdtempSync(join(tmpdir(), 'probe-baseline-'))
process.once('SIGTERM', () => {
  rmSync(dir, { recursive: true })
  process.exit()
})

const metrics = '# TYPE sqd_processor_last_block gauge\nsqd_processor_last_block 18000000\n'.repeat(5)

function probe(name: string, method: 'GET' | 'POST', body: string): void {
  const call = request({ socketPath: join(dir, name), path: '/', method, agent: false }, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    response.on('end', () => {
      if (text === '') throw new Error('The response is empty')
    })
  })
  call.end(body)
}

for (let version = 0; version < versions; version++) {
  for (const [name, text] of [
    [`processor-${version}`, metrics],
    [`api-${version}`, '{"data":{"__typename":"Query"}}'],
  ] as const)
    createServer((received, response) => received.resume().on('end', () => response.end(text))).listen(join(dir, name))
  setInterval(() => probe(`processor-${version}`, 'GET', ''), processorsMs)
  setInterval(() => probe(`api-${version}`, 'POST', '{"query":"{__typename}"}'), apisMs)
}
