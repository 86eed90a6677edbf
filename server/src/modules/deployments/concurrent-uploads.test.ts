import { randomBytes } from 'node:crypto'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { multipartOf } from './testing/archive.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'
import { maxConcurrentUploads } from './upload-permits.ts'

const archive = randomBytes(2_000_000)

let t: DeployApp
let url: string
let tenant: Deployer
let neighbour: Deployer
beforeAll(async () => {
  t = await startDeployApp()
  ;[url, tenant, neighbour] = await Promise.all([t.listen(), t.deployer(), t.deployer()])
})
afterAll(() => t?.close())

const partialFiles = async () =>
  (await readdir(join(t.app.config.dataDir, 'uploads')).catch(() => [])).filter((name) => name.endsWith('.part')).length

/** Begins to send an archive as a client does. `rest`: the part that was not sent yet. */
async function beginUpload(
  by: Deployer,
): Promise<{ sending: ClientRequest; rest: Buffer; response: Promise<IncomingMessage> }> {
  const { uploadUrl } = await by.api.deployments.createUpload({ params: { code: by.org.code } })
  const { payload, contentType } = multipartOf(archive)
  const sending = request(`${url}/api/v1${uploadUrl}`, {
    method: 'POST',
    headers: {
      authorization: `token ${by.org.admin.token}`,
      'content-type': contentType,
      'content-length': payload.length,
    },
  })
  const response = once(sending, 'response').then(([message]) => message as IncomingMessage)
  response.catch(() => undefined)
  sending.write(payload.subarray(0, 100_000))
  return { sending, rest: payload.subarray(100_000), response }
}

async function upload(by: Deployer) {
  const { sending, rest, response } = await beginUpload(by)
  sending.end(rest)
  const { statusCode, headers } = await response
  return {
    status: statusCode,
    retryAfter: headers['retry-after'],
    body: JSON.parse(await text(await response)) as unknown,
  }
}

test('an organization can send a limited number of archives concurrently; other organizations are not affected', async () => {
  const begun = []
  while (begun.length < maxConcurrentUploads) begun.push(await beginUpload(tenant))
  await expect.poll(partialFiles).toBe(maxConcurrentUploads)

  const refused = await upload(tenant)
  expect(refused).toMatchObject({ status: 429, body: { code: 'TOO_MANY_CONCURRENT_UPLOADS' } })
  expect(refused.body).toMatchObject({ error: expect.stringContaining('8 archives') as string })
  expect(Number(refused.retryAfter)).toBeGreaterThan(0)
  expect(await partialFiles()).toBe(maxConcurrentUploads)

  expect(await upload(neighbour)).toMatchObject({ status: 201 })

  // The upload of a client that disconnects no longer counts, and leaves no file.
  begun[0]?.sending.destroy()
  await expect.poll(partialFiles).toBe(maxConcurrentUploads - 1)
  expect(await upload(tenant)).toMatchObject({ status: 201 })

  for (const { sending, rest } of begun.slice(1)) sending.end(rest)
  const responses = await Promise.all(begun.slice(1).map(({ response }) => response))
  expect(responses.map(({ statusCode }) => statusCode)).toEqual(responses.map(() => 201))
  for (const response of responses) response.resume()
  expect(await upload(tenant)).toMatchObject({ status: 201 })
})
