import { createSimRuntime, type Directory } from '@shoal/runtime'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { updateSquid, type SquidRow } from '../../modules/versions/index.ts'
import { notifySquidChanged } from '../../modules/versions/store.ts'
import { workloadIdOf } from '../../modules/manifest/index.ts'
import { apiPort } from '../../modules/containers.ts'
import { makeVersion, type VersionSpec } from '../../modules/versions/testing/make-version.ts'
import { until } from '../../testing/until.ts'
import { startTestApp, type TestApp, type TestAppOptions, type TestOrg } from '../../testing/index.ts'
import { listen } from '../../ports/listener.ts'
import { createGateway } from '../gateway.ts'
import { defaultSquidRouteLimits, type SquidRouteLimits } from '../squid-route.ts'

/** A server at the endpoint of a container's port. */
export type TestSquidServer = { server: Server; close: () => Promise<void> }

/** A gateway, and functions that create and serve versions. */
export type GatewayTestbed = {
  t: TestApp
  org: TestOrg
  gateway: { close: () => Promise<void> }
  /** `http://127.0.0.1:<port>`. */
  url: string
  /** Starts another gateway on the same database. */
  startAnother: () => Promise<{ gateway: { close: () => Promise<void> }; url: string }>
  /** Creates a version, by default of `org`, and waits until the gateway routes to it. The test starts its containers with `serve`. */
  createVersion: (spec?: VersionSpec, owner?: TestOrg) => Promise<SquidRow>
  /** Starts a server in place of a container, by default of the api of the current generation. */
  serve: (squid: SquidRow, listener: RequestListener, options?: ServeOptions) => Promise<TestSquidServer>
  /** Updates the version and notifies gateways, as the deploy engine does; without a change it only notifies. */
  updateVersion: (squid: SquidRow, change?: Partial<SquidRow>) => Promise<void>
  close: () => Promise<void>
}

type ServeOptions = { container?: string; port?: number; generation?: number }

/** Starts a gateway with its own database, in front of servers on unix sockets that tests start as needed. */
export async function openGatewayTestbed(
  options: TestAppOptions = {},
  limits: Partial<SquidRouteLimits> = { maxWaitMs: 300 },
): Promise<GatewayTestbed> {
  const cleanup = new AsyncDisposableStack()
  const dir = mkdtempSync(join(tmpdir(), 'gw-'))
  cleanup.defer(() => rmSync(dir, { recursive: true, force: true }))
  const pathOf = (workload: string, container: string, port: number) => join(dir, `${workload}-${container}-${port}`)
  const runtime = createSimRuntime()
  const directory: Directory = {
    start: async () => {},
    close: async () => {},
    endpoint: (id, container, port) => ({ kind: 'unix', path: pathOf(id, container, port) }),
    changed: (listener) => runtime.directory.changed(listener),
  }
  const t = await startTestApp({ runtime, directory, ...options })
  cleanup.defer(t.close)
  const start = async () => {
    const { close, ...handlers } = await createGateway(t.app, { ...defaultSquidRouteLimits, ...limits })
    const listener = await listen(0, '127.0.0.1')
    listener.setHandlers(handlers)
    const gateway = {
      close: async () => {
        await listener.close()
        await close()
      },
    }
    cleanup.defer(gateway.close)
    return { gateway, url: `http://127.0.0.1:${listener.port}` }
  }
  const { gateway, url } = await start()
  const org = await t.make.org({ code: 'acme' })
  return {
    t,
    org,
    gateway,
    url,
    startAnother: start,
    createVersion: async (spec = {}, owner = org) => {
      const squid = await makeVersion(t.app, owner, { apis: [{}], ...spec })
      await notifySquidChanged(t.app.db, squid.id)
      // Requests for metrics are not held, so they fail immediately: with another code once the gateway knows the version.
      const metrics = `${url}/${owner.code}/${squid.name}@${squid.slot}/processors/unknown/metrics`
      await until(async () =>
        expect(await (await fetch(metrics)).json()).not.toMatchObject({ code: 'SQUID_NOT_FOUND' }),
      )
      return squid
    },
    serve: async (squid, listener, serveOptions = {}) => {
      const { container = 'api', port = apiPort, generation = squid.generation } = serveOptions
      const server = createServer(listener)
      const path = pathOf(workloadIdOf(squid.id, generation), container, port)
      await new Promise<void>((done) => server.listen(path, done))
      const close = async () => {
        server.closeAllConnections()
        await new Promise((done) => server.close(done))
      }
      cleanup.defer(close)
      return { server, close }
    },
    updateVersion: async (squid, change = {}) => {
      if (Object.keys(change).length > 0) await updateSquid(t.app.db, squid.id, change)
      await notifySquidChanged(t.app.db, squid.id)
    },
    close: () => cleanup.disposeAsync(),
  }
}
