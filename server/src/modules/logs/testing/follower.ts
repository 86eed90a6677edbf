import type { LogEntry } from '@shoal/contract'
import { request, type IncomingMessage } from 'node:http'

/** A client that follows a log. */
export type Follower = {
  /** All entries so far. */
  entries: LogEntry[]
  /** The length of the longest batch of entries, as JSON, in characters. */
  maxBatchLength: number
  /** The number of blank lines, which the server sends to keep the connection open. */
  heartbeats: number
  isEnded: boolean
  /** Stops reading from the connection until `resume`. */
  pause: () => void
  resume: () => void
  disconnect: () => void
}

/** Reads a stream of logs like the public client: each line an array, blank lines ignored. */
export async function followLogs(url: string, token: string): Promise<Follower> {
  const response = await new Promise<IncomingMessage>((done, failed) => {
    request(url, { headers: { authorization: `token ${token}` }, agent: false }, done)
      .on('error', failed)
      .end()
  })
  if (response.statusCode !== 200) throw new Error(`${url} responded with status ${response.statusCode}`)
  const follower: Follower = {
    entries: [],
    maxBatchLength: 0,
    heartbeats: 0,
    isEnded: false,
    pause: () => response.pause(),
    resume: () => response.resume(),
    disconnect: () => response.destroy(),
  }
  let remainder = ''
  response.setEncoding('utf8')
  response.on('data', (text: string) => {
    const lines = (remainder + text).split('\n')
    remainder = lines.pop() ?? ''
    for (const line of lines) {
      follower.maxBatchLength = Math.max(follower.maxBatchLength, line.length)
      if (line === '') follower.heartbeats++
      else follower.entries.push(...(JSON.parse(line) as LogEntry[]))
    }
  })
  response.on('end', () => (follower.isEnded = true))
  response.on('error', () => {})
  return follower
}
