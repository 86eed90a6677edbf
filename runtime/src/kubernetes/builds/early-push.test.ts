import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type RequestListener, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { BuildLog } from '../../build/build-log.ts'
import type { BuildPlan } from '../../build/build-image.ts'
import { openImageRegistry } from '../../images/image-registry.ts'
import { EarlyPush } from './early-push.ts'

/** Returns a push to a registry that responds with `listener`, the folder of the dependencies, and the lines of the log. */
async function open(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const folder = mkdtempSync(join(tmpdir(), 'early-push-'))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  writeFileSync(join(folder, 'index.js'), 'x')
  const { port } = server.address() as AddressInfo
  const settings = { registry: `http://127.0.0.1:${port}/squids`, baseImage: null, authFile: null }
  const lines: string[] = []
  const log = new BuildLog((_severity, line) => lines.push(line))
  const plan = { log, request: { tenant: '1', signal: new AbortController().signal } } as BuildPlan
  return { push: new EarlyPush(await openImageRegistry(settings, join(folder, 'oci')), plan), folder, lines, server }
}

test('a push of dependencies that the registry refuses ends without an error, since the push of the image reports it', async () => {
  const { push, folder, lines } = await open((_request, response) => void response.writeHead(403).end())
  push.start(folder, 'key')
  await push.ended
  expect(lines).toEqual([])
})

test('disposing a push of dependencies ends it, even if the registry does not respond', async () => {
  const { push, folder, lines, server } = await open(() => undefined)
  push.start(folder, 'key')
  await once(server, 'request')
  await push[Symbol.asyncDispose]()
  expect(lines).toEqual([])
})
