import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startExternalPostgres, type ExternalPostgres } from '../../scripts/external-postgres.ts'
import { addOrg } from '../support/org.ts'
import { startProcess, type ServerProcess } from '../support/server-process.ts'
import { connectToShoal, makeDataDir } from '../support/shoal.ts'
import { until } from '../support/until.ts'

const token = 'token-of-the-operator'
const sizeMiB = 64
const dataDir = makeDataDir()
let postgres: ExternalPostgres | null = null
let server: ServerProcess | null = null

let isMounted = false

beforeAll(() => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMiB}m`, 'tmpfs', dataDir], { stdio: 'pipe' })
    isMounted = true
  } catch {
    console.log('The warning about an almost full disk is not tested, because only root can mount a small file system.')
  }
})

afterAll(async () => {
  server?.signal('SIGKILL')
  await server?.ended
  await postgres?.stop()
  if (isMounted) execFileSync('umount', ['--lazy', dataDir])
  rmSync(dataDir, { recursive: true, force: true })
})

test('with less than 5 % of the disk free, /readyz and the metrics warn and deployments are refused; with a full disk, /readyz fails', async ({
  skip,
}) => {
  skip(!isMounted)
  postgres = await startExternalPostgres()
  const settings = { SHOAL_DATA_DIR: dataDir, DATABASE_URL: postgres.url('shoal'), SHOAL_METRICS_TOKEN: token }
  server = await startProcess(settings)
  await server.ready()
  const { url, gatewayUrl } = server
  const facts = async () => {
    const response = await fetch(`${url}/readyz`)
    expect(response.status).toBe(200)
    return ((await response.json()) as { facts: Record<string, unknown> }).facts
  }
  const freeShare = async () => {
    const text = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text()
    const bytes = (state: string) =>
      Number(new RegExp(`^shoal_disk_bytes\\{state="${state}"\\} (\\d+)$`, 'm').exec(text)?.[1])
    expect(bytes('size')).toBe(sizeMiB * 1024 * 1024)
    return bytes('free') / bytes('size')
  }
  expect(await facts()).toMatchObject({ diskWarning: null })
  expect(await freeShare()).toBeGreaterThan(0.5)
  const { api, token: apiToken } = await addOrg(connectToShoal({ url, gatewayUrl, outboxUrl: null, settings }), 'acme')
  const openUpload = () => api.deployments.createUpload({ params: { code: 'acme' } })
  const { uploadUrl, fileUrl } = await openUpload()
  const upload = async () => {
    const form = new FormData()
    form.append('file', new Blob(['an archive']), 'squid.tar.gz')
    const headers = { authorization: `token ${apiToken}` }
    return (await fetch(`${url}/api/v1${uploadUrl}`, { method: 'POST', headers, body: form })).status
  }
  expect(await upload()).toBe(201)

  const file = join(dataDir, 'filler')
  writeFileSync(file, Buffer.alloc((sizeMiB - 3) * 1024 * 1024))
  const warning = await until(async () => (await facts())['diskWarning'], '/readyz reports a warning')
  expect(warning).toMatch(/^only [1-4]\.\d % is free: deployments are refused$/)
  expect(await facts()).toMatchObject({ diskFreePercent: expect.toSatisfy((percent: number) => percent < 5) })
  expect(await freeShare()).toBeLessThan(0.05)
  const refusal = { status: 405, message: expect.stringContaining('The disk of this installation is almost full') }
  await expect(openUpload()).rejects.toMatchObject(refusal)
  expect(await upload()).toBe(405)
  const body = { artifactUrl: fileUrl, options: { hardReset: false, overrideName: 'squid', overrideSlot: 'v1' } }
  await expect(api.squids.deploy({ params: { code: 'acme' }, body })).rejects.toMatchObject(refusal)

  expect(() => writeFileSync(join(dataDir, 'last-bytes'), Buffer.alloc(3 * 1024 * 1024))).toThrow('ENOSPC')
  const notReady = await until(async () => {
    const response = await fetch(`${url}/readyz`)
    return response.status === 503 ? ((await response.json()) as { checks: Record<string, string> }) : null
  }, '/readyz fails')
  expect(notReady.checks['disk']).toBe('only 0.0 % is free')

  rmSync(file)
  await until(async () => (await fetch(`${url}/readyz`)).ok, '/readyz succeeds again')
  expect(await facts()).toMatchObject({ diskWarning: null })
  expect(await openUpload()).toMatchObject({ fileUrl: expect.any(String) })
})
