import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { request, type ClientRequest } from 'node:http'
import { join } from 'node:path'
import { contract, createClient } from '@shoal/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addOrg, type Org } from '../support/org.ts'
import { startInstallation, type Installation, type RoleProcess } from '../support/role-processes.ts'
import { until } from '../support/until.ts'

/** The limit of an organization's concurrent uploads, as in server/src/modules/deployments/upload-permits.ts. */
const maxConcurrent = 8
const maxStoredMb = 3

let installation: Installation
let first: RoleProcess
let second: RoleProcess
const unfinished: ClientRequest[] = []

beforeAll(async () => {
  installation = await startInstallation({ api: 2, worker: 0, gateway: 0 }, { SHOAL_ORG_ARCHIVES_MB: `${maxStoredMb}` })
  ;[first, second] = installation.withRole('api') as [RoleProcess, RoleProcess]
})
afterAll(async () => {
  for (const sending of unfinished) sending.destroy()
  await installation?.end()
})

const clientOf = (process: RoleProcess, token: string) =>
  createClient(contract, { baseUrl: `http://127.0.0.1:${process.port}/api`, token: () => token })
const addOrganization = (name: string) =>
  addOrg({ cli: installation.cli, as: (token) => clientOf(second, token) }, name)

/** The first upload creates the folder. */
function countPartialFiles(): number {
  const folder = join(installation.dataDir, 'uploads')
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.part')).length : 0
}

/** Begins to send an archive of `bytes` to a process. `finish` sends the rest. */
async function begin(org: Org, process: RoleProcess, bytes = 500_000) {
  const { uploadUrl } = await clientOf(second, org.token).deployments.createUpload({ params: { code: org.org } })
  const boundary = 'part'
  const sending = request(`http://127.0.0.1:${process.port}/api/v1${uploadUrl}`, {
    method: 'POST',
    headers: { authorization: `token ${org.token}`, 'content-type': `multipart/form-data; boundary=${boundary}` },
  })
  unfinished.push(sending)
  sending.on('error', () => undefined)
  sending.write(`--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.tgz"\r\n\r\n`)
  sending.write(randomBytes(bytes))
  const response = once(sending, 'response').then(async ([message]) => {
    const parts: Buffer[] = []
    for await (const part of message as AsyncIterable<Buffer>) parts.push(part)
    const { statusCode } = message as { statusCode: number }
    return {
      status: statusCode,
      body: JSON.parse(Buffer.concat(parts).toString()) as { code?: string; error?: string },
    }
  })
  response.catch(() => undefined)
  return { response, finish: () => void sending.end(`\r\n--${boundary}--\r\n`) }
}

async function send(org: Org, process: RoleProcess, bytes?: number) {
  const { response, finish } = await begin(org, process, bytes)
  finish()
  return await response
}

test('the limit of an organization’s concurrent uploads applies to all api processes together, and uploads of a killed process no longer count', async () => {
  const [hostile, neighbour] = [await addOrganization('hostile'), await addOrganization('neighbour')]
  for (let sent = 0; sent < maxConcurrent; sent += 1) await begin(hostile, sent % 2 ? first : second)
  await until(() => countPartialFiles() === maxConcurrent, 'all uploads are in progress')

  for (const process of [first, second]) {
    const refused = await send(hostile, process)
    expect(refused).toMatchObject({ status: 429, body: { code: 'TOO_MANY_CONCURRENT_UPLOADS' } })
    expect(refused.body.error).toContain(`${maxConcurrent} archives`)
    expect(await send(neighbour, process)).toMatchObject({ status: 201 })
  }
  expect(countPartialFiles()).toBe(maxConcurrent)

  await first.end('SIGKILL')
  await until(
    async () => (await send(hostile, second)).status === 201,
    'the uploads of the killed process no longer count',
  )
  // The uploads to the other process still count.
  for (let sent = maxConcurrent / 2; sent < maxConcurrent; sent += 1) await begin(hostile, second)
  await until(async () => (await send(hostile, second)).status === 429, 'the organization is at its limit again')
  await first.start()
  expect((await send(hostile, first)).status).toBe(429)
})

test('the total size of the archives that an organization sends in a day is limited, whichever process receives them', async () => {
  const hostile = await addOrganization('heavy')
  for (const process of [first, second]) expect((await send(hostile, process, 1_400_000)).status).toBe(201)
  for (const process of [first, second]) {
    const refused = await send(hostile, process, 1_000_000)
    expect(refused).toMatchObject({ status: 429, body: { code: 'TOO_MANY_ARCHIVES' } })
    expect(refused.body.error).toContain(`${maxStoredMb} MB`)
  }
  expect((await send(hostile, first, 100_000)).status).toBe(201)
})
