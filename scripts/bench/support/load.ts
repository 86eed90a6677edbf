import { Pool } from 'undici'
import { runCommand } from '../../command.ts'
import { median } from './result.ts'

/** A GraphQL API, which listens on the port of `origin` or on a unix socket. */
export type Target = { origin: string; path: string; socketPath?: string }

function openPool({ origin, socketPath }: Target, connections: number): Pool {
  return new Pool(origin, { connections, pipelining: 1, ...(socketPath ? { socketPath } : {}) })
}

async function send(pool: Pool, path: string, query: string): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const { statusCode, body } = await pool.request({ path, method: 'POST', headers, body: JSON.stringify({ query }) })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`${path} returned ${statusCode}: ${text.slice(0, 500)}`)
}

/** Returns the requests per second over 16 connections. Each sends its next request after the response to the last one. @throws on any status but 200 */
export async function throughput(target: Target, query: string, seconds: number): Promise<number> {
  const connections = 16
  const pool = openPool(target, connections)
  const startedAt = performance.now()
  let responses = 0
  const keepSending = async () => {
    for (; performance.now() - startedAt < seconds * 1000; responses++) await send(pool, target.path, query)
  }
  await Promise.all(Array.from({ length: connections }, keepSending))
  const elapsedSeconds = (performance.now() - startedAt) / 1000
  await pool.close()
  return responses / elapsedSeconds
}

/** Returns the median latency in milliseconds with one request at a time. */
export async function latencyMs(target: Target, query: string, requests: number): Promise<number> {
  const pool = openPool(target, 1)
  const measured: number[] = []
  for (let request = 0; request < requests; request++) {
    const startedAt = performance.now()
    await send(pool, target.path, query)
    measured.push(performance.now() - startedAt)
  }
  await pool.close()
  return median(measured)
}

/** Returns the requests per second that `wrk` sends over 16 connections. @throws if a response has a status other than 2xx or 3xx */
export async function wrk(url: string, seconds: number): Promise<number> {
  const { code, output } = await runCommand('wrk', ['-t1', '-c16', `-d${seconds}s`, url])
  const rate = /Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]
  if (code === 127) throw new Error('This benchmark needs wrk: apt-get install wrk')
  if (code !== 0 || !rate || /Non-2xx/.test(output)) throw new Error(`wrk ${url} failed:\n${output}`)
  return Number(rate)
}
