import type { Client, Contract, Deployment } from '@shoal/contract'
import { createSimBuilder, createSimRuntime, ManualClock, type SimBuilder, type SimRuntime } from '@shoal/runtime'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkerApp } from '../../../app.ts'
import { startTestApp, type TestApp, type TestAppOptions, type TestOrg, type TestUser } from '../../../testing/index.ts'
import { startEngine } from '../engine.ts'
import { startReconcile } from '../reconcile.ts'
import type { EngineIntervals } from '../step.ts'
import { archiveOf, multipartOf } from './archive.ts'
import { squidFiles, type TestSquid } from './squid-files.ts'

/** Intervals of the engine that keep tests short. */
export const fastIntervals: EngineIntervals = {
  pollMs: 4,
  sweepMs: 50,
  reconcileMs: 20,
  retryMs: 5,
  gatewaysMs: 2_000,
  maxHeartbeatAgeMs: 15_000,
  drainMs: 20,
  healthyForMs: 500,
  firstHealthyForMs: 300,
  minUptimeMs: 2_000,
}

type DeployOptions = {
  name?: string
  slot?: string
  tag?: string
  hardReset?: boolean
  manifestPath?: string
}

/** A test server with simulated squids, and functions to start workers and to deploy. */
export type DeployApp = TestApp & {
  runtime: SimRuntime
  builder: SimBuilder
  time: ManualClock
  /** Starts a worker that only runs the deploy engine and the reconcile loop. */
  startWorker: (app?: WorkerApp, intervals?: Partial<EngineIntervals>) => { close: () => Promise<void> }
  /** Runs `act` while a worker is running. */
  withWorker: <T>(act: () => Promise<T>) => Promise<T>
  /** A user who deploys to an organization. */
  deployer: (org?: TestOrg) => Promise<Deployer>
}

/** An admin of an organization, with functions to deploy squids to it. */
export type Deployer = {
  org: TestOrg
  api: Client<Contract>
  /** Uploads an archive; returns its `fileUrl`. */
  upload: (archive: Buffer) => Promise<string>
  /** Uploads the squid and requests its deployment. */
  deploy: (squid?: TestSquid, options?: DeployOptions) => Promise<Deployment>
  /** Waits for the end of a deployment, and returns it. */
  waitForEnd: (deployment: Pick<Deployment, 'id'>) => Promise<Deployment>
  /** Deploys, waits for the end and returns the deployment. @throws Error when it failed */
  deployAndWait: (squid?: TestSquid, options?: DeployOptions) => Promise<Deployment>
}

/**
 * Starts a server with simulated squids; without `ownsHost`, their hosts can be lost. Its clock runs automatically, much faster than real
 * time, and can also be advanced.
 */
export async function startDeployApp({
  ownsHost = true,
  ...options
}: TestAppOptions & { ownsHost?: boolean } = {}): Promise<DeployApp> {
  const time = new ManualClock()
  const builder = createSimBuilder()
  const runtime = createSimRuntime({ clock: time, serve: true, ownsHost, hasImage: (image) => builder.hasImage(image) })
  const t = await startTestApp({ clock: time, runtime, builder, ...options })
  const ticking = setInterval(() => time.advance(100), 10)
  const startWorker = (app: WorkerApp = t.app, intervals: Partial<EngineIntervals> = {}) => {
    const engine = startEngine(app, { ...fastIntervals, ...intervals })
    const reconcile = startReconcile(engine.worker, engine.locks)
    return {
      close: async () => {
        await reconcile.close()
        await engine.close()
      },
    }
  }
  return {
    ...t,
    runtime,
    builder,
    time,
    startWorker,
    withWorker: async (act) => {
      const worker = startWorker()
      try {
        return await act()
      } finally {
        await worker.close()
      }
    },
    deployer: async (org) => deployerOf(t, org ?? (await t.make.org())),
    close: async () => {
      clearInterval(ticking)
      await t.close()
    },
  }
}

function deployerOf(t: TestApp, org: TestOrg): Deployer {
  const api = t.as(org.admin)
  const upload = (archive: Buffer) => sendArchive(t, org.admin, org.code, archive)
  const deploy = async (squid: TestSquid = {}, { manifestPath = 'squid.yaml', ...o }: DeployOptions = {}) =>
    await api.squids.deploy({
      params: { code: org.code },
      body: {
        artifactUrl: await upload(archiveOf(squidFiles(squid))),
        manifestPath,
        options: {
          hardReset: o.hardReset ?? false,
          overrideName: o.name ?? 'test-squid',
          ...(o.slot === undefined ? {} : { overrideSlot: o.slot }),
          ...(o.tag === undefined ? {} : { tag: o.tag }),
        },
      },
    })
  const waitForEnd = async ({ id }: Pick<Deployment, 'id'>) => {
    while (true) {
      const deployment = await api.deployments.get({ params: { code: org.code, id: String(id) } })
      if (deployment.status === 'OK' || deployment.failed !== 'NO') return deployment
      await sleep(10)
    }
  }
  const deployAndWait = async (squid?: TestSquid, o?: DeployOptions) => {
    const deployment = await waitForEnd(await deploy(squid, o))
    if (deployment.failed !== 'NO') throw new Error(`${deployment.failed}: ${deployment.failureReason}`)
    return deployment
  }
  return { org, api, upload, deploy, waitForEnd, deployAndWait }
}

/** Like the public client: requests an upload, then sends a multipart body to its URL. */
export async function sendArchive(
  t: TestApp,
  user: Pick<TestUser, 'token'>,
  code: string,
  archive: Buffer,
): Promise<string> {
  const { uploadUrl, fileUrl } = await t.as(user).deployments.createUpload({ params: { code } })
  const { payload, contentType } = multipartOf(archive)
  const response = await t.http.inject({
    method: 'POST',
    url: `/api/v1${uploadUrl}`,
    headers: { authorization: `token ${user.token}`, 'content-type': contentType },
    payload,
  })
  if (response.statusCode !== 201) throw new Error(`${response.statusCode} ${response.body}`)
  return fileUrl
}
