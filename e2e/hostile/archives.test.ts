import { lstatSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { asInMessages, hostileArchives } from '@shoal/runtime/hostile-archives'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeBareSquid } from '../support/bare-squid.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { addOrg, type Org } from '../support/org.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { isFull } from '../support/tier.ts'

/**
 * Hostile archives, each with one trick. Only `npm run test:full` uses all of them; other runs use every third. The runtime's
 * `hostile-archives.test.ts` unpacks thousands of combinations of tricks.
 */
const archives = [...hostileArchives(20_261_123, 70)].filter((_, i) => isFull || i % 3 === 0)
/** The number of archives that are deployed at the same time, each to its own slot, because a version has one deployment at a time. */
const concurrency = 4
/** The archives contain no valid squid, so the deployment also fails for those that the builder unpacks. */
const expectedFailures = ['REQUIRED_SOURCE_FILE_INVALID', 'REQUIRED_SOURCE_FILE_MISSED', 'REQUIREMENTS']

let shoal: Shoal
let org: Org

beforeAll(async () => {
  shoal = await startShoal()
  org = await addOrg(shoal, 'hostile')
})
afterAll(() => shoal?.end())

/** Uploads and deploys an archive. Returns how Shoal rejected it: the HTTP status of the upload or the error code of the deployment, with the reason. */
async function rejectionOf(bytes: Buffer, slot: string): Promise<{ failed: string; reason: string }> {
  const params = { code: org.org }
  const { uploadUrl, uploadFields, fileUrl } = await org.api.deployments.createUpload({ params })
  const form = new FormData()
  for (const [key, value] of Object.entries(uploadFields)) form.append(key, value)
  form.append('file', new Blob([new Uint8Array(bytes)]), 'squid.tar.gz')
  const response = await fetch(`${shoal.url}/api/v1${uploadUrl}`, {
    method: 'POST',
    headers: { authorization: `token ${org.token}` },
    body: form,
  })
  if (!response.ok) return { failed: String(response.status), reason: await response.text() }
  const options = { hardReset: false, overrideName: 'hostile', overrideSlot: slot }
  const { id } = await org.api.squids.deploy({ params, body: { artifactUrl: fileUrl, options } })
  const { failed, failureReason } = await waitForDeployment(org, id)
  return { failed, reason: failureReason ?? '' }
}

/** Returns the entries in the folders for archives and images that are neither files, folders, links nor sockets. */
function specialFiles(): string[] {
  const folders = ['builds', 'images', 'uploads'].map((name) => join(shoal.dataDir, name))
  return folders.flatMap((folder) => {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => {
      const stat = lstatSync(join(folder, path), { throwIfNoEntry: false })
      return stat && !stat.isFile() && !stat.isDirectory() && !stat.isSymbolicLink() && !stat.isSocket()
    })
  })
}

test('each hostile archive is rejected with a sentence that names the offending path, and leaves no special files', async () => {
  const faults: string[] = []
  const remaining = archives.values()
  const upload = async (slot: string) => {
    for (const { title, bytes, rejectedPath } of remaining) {
      const { failed, reason } = await rejectionOf(bytes, slot)
      if (!expectedFailures.includes(failed)) faults.push(`${title}: ${failed} ${reason}`)
      if (rejectedPath !== null && failed !== 'REQUIRED_SOURCE_FILE_INVALID')
        faults.push(`${title} was unpacked: ${reason}`)
      if (rejectedPath !== null && !reason.includes(asInMessages(rejectedPath)))
        faults.push(`${title}: the reason does not name ${rejectedPath}: ${reason}`)
      if (!/^[A-Z“"][^]{10,600}$/.test(reason)) faults.push(`${title}: the reason is not a short sentence: ${reason}`)
      if (reason.includes(shoal.dataDir)) faults.push(`${title}: the reason reveals a path of the host: ${reason}`)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, (_, i) => upload(`v${i + 1}`)))
  expect(faults).toEqual([])
  expect(specialFiles()).toEqual([])
  expect(shoal.output()).not.toMatch(/unhandled|ERR_INTERNAL/i)
  expect((await fetch(`${shoal.url}/readyz`)).status).toBe(200)
}, 600_000)

test('a package.json with 50,000 nested arrays is rejected with a sentence', async () => {
  const project = makeBareSquid('nested', { 'package.json': `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}` })
  try {
    const deployer = { ...org, shoal, project }
    const deployment = await waitForDeployment(org, await deploy(deployer, { name: 'nested', slot: 'v1' }))
    expect([deployment.failed, deployment.failureReason]).toEqual([
      'REQUIRED_SOURCE_FILE_INVALID',
      'package.json is nested more than 500 levels deep.',
    ])
  } finally {
    rmSync(dirname(project), { recursive: true, force: true })
  }
})
