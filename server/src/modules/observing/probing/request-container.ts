import { connect } from 'node:net'
import type { PortEndpoint } from '@shoal/runtime'
import { ResponseReader, type ContainerResponse } from './response-reader.ts'

/** A request to a program. `headers` need neither `host`, `connection` nor `content-length`. */
export type ContainerRequest = {
  method: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  timeoutMs: number
}

/**
 * Sends an HTTP request to a program in a container. Thousands of programs are probed each second; this takes a quarter of the CPU time of
 * `node:http`, since each probe needs a new connection. @throws Error unless a complete response arrives in time
 */
export function requestContainer(
  endpoint: PortEndpoint,
  { method, path, headers, timeoutMs }: ContainerRequest,
  body = '',
): Promise<ContainerResponse> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      endpoint.kind === 'unix' ? { path: endpoint.path } : { host: endpoint.host, port: endpoint.port },
    )
    const reader = new ResponseReader()
    const end = (error: Error | null, response: ContainerResponse | null) => {
      clearTimeout(timer)
      socket.destroy()
      if (response) resolve(response)
      else reject(error ?? new Error('The connection ended before the response was complete'))
    }
    const timer = setTimeout(
      () => end(new DOMException(`No response within ${timeoutMs} ms`, 'TimeoutError'), null),
      timeoutMs,
    )
    const read = (take: () => ContainerResponse | null) => {
      try {
        const response = take()
        if (response) end(null, response)
      } catch (error) {
        end(error as Error, null)
      }
    }
    socket.on('data', (chunk: Buffer) => read(() => reader.push(chunk)))
    // A program may end the connection to mark the end of its response.
    socket.on('end', () => {
      read(() => reader.end())
      end(null, null)
    })
    socket.on('error', (error) => end(error, null))
    socket.write(requestText({ method, path, ...(headers && { headers }) }, body))
  })
}

function requestText({ method, path, headers = {} }: Omit<ContainerRequest, 'timeoutMs'>, body: string): string {
  const lines = Object.entries({
    host: 'localhost',
    connection: 'close',
    ...headers,
    ...(body && { 'content-length': String(Buffer.byteLength(body)) }),
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
