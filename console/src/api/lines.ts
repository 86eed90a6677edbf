import type { Contract } from '@shoal/contract'
import { open, type EndpointName } from './client.ts'
import type { CallArgument, Payload } from './query.ts'

type LinesName = {
  [N in EndpointName]: N extends `${infer A extends keyof Contract}.${infer V}`
    ? V extends keyof Contract[A]
      ? Contract[A][V] extends { kind: 'lines' }
        ? N
        : never
      : never
    : never
}[EndpointName]

/** The server sends at least one line every 5 s. */
const idleTimeoutMs = 20_000

/**
 * Yields the batches of a stream as they arrive; an empty batch is a heartbeat. Returns when the server ends the
 * stream. Throws ApiError if the server rejects the request, and the browser's error when `signal` is aborted, the connection breaks,
 * or no line arrives for 20 s.
 */
export async function* readLines<N extends LinesName>(
  name: N,
  call: CallArgument<N>,
  signal: AbortSignal,
): AsyncGenerator<Payload<N>[]> {
  const idleAbort = new AbortController()
  let timer = 0
  const restartTimer = () => {
    clearTimeout(timer)
    timer = window.setTimeout(() => idleAbort.abort(), idleTimeoutMs)
  }
  restartTimer()
  try {
    const { body } = await open(name, call, AbortSignal.any([signal, idleAbort.signal]))
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
    let partialLine = ''
    for (let chunk = await reader?.read(); chunk && !chunk.done; chunk = await reader?.read()) {
      restartTimer()
      const lines = (partialLine + chunk.value).split('\n')
      partialLine = lines.pop() ?? ''
      for (const line of lines) yield line === '' ? [] : (JSON.parse(line) as Payload<N>[])
    }
  } finally {
    clearTimeout(timer)
    idleAbort.abort()
  }
}
