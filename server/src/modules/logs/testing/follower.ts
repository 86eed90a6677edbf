import type { LogEntry } from '@shoal/contract'
import { request, type IncomingMessage } from 'node:http'

export type Follower = {
  /** All entries so far. */
  entries: LogEntry[]
  /** Lines of the stream without an entry. */
  beats: number
  isEnded: boolean
  /** Stops reading from the connection until `resume`. */
  pause: () => void
  resume: () => void
  hangUp: () => void
}

/** Reads a stream of logs like the public client: each line an array, blank lines ignored (contract 2.6). */
export async function followLogs(url: string, token: string): Promise<Follower> {
  const response = await new Promise<IncomingMessage>((done, failed) => {
    request(url, { headers: { authorization: `token ${token}` }, agent: false }, done)
      .on('error', failed)
      .end()
  })
  if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}`)
  const follower: Follower = {
    entries: [],
    beats: 0,
    isEnded: false,
    pause: () => response.pause(),
    resume: () => response.resume(),
    hangUp: () => response.destroy(),
  }
  let rest = ''
  response.setEncoding('utf8')
  response.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') follower.beats++
      else follower.entries.push(...(JSON.parse(line) as LogEntry[]))
    }
  })
  response.on('end', () => (follower.isEnded = true))
  response.on('error', () => {})
  return follower
}
