import type { Deployment } from '@shoal/contract'
import { isInProgress } from '@shoal/contract'
import { create } from 'tar'
import type { TestCloud } from './test-cloud.ts'
import { until } from './until.ts'

type Options = { slot: string; tag?: string; hardReset?: boolean; name?: string }

/** Packs, uploads and deploys the project as the public client does. Does not wait for the deployment. Returns its id. */
export async function deploy(
  cloud: Pick<TestCloud, 'api' | 'org' | 'token' | 'project'> & { shoal: Pick<TestCloud['shoal'], 'url'> },
  options: Options,
): Promise<number> {
  const params = { code: cloud.org }
  const { uploadUrl, uploadFields, fileUrl } = await cloud.api.deployments.createUpload({ params })
  const form = new FormData()
  for (const [key, value] of Object.entries(uploadFields)) form.append(key, value)
  form.append('file', await archiveOf(cloud.project), 'squid.tar.gz')
  const response = await fetch(`${cloud.shoal.url}/api/v1${uploadUrl}`, {
    method: 'POST',
    headers: { authorization: `token ${cloud.token}` },
    body: form,
  })
  if (!response.ok) throw new Error(`upload: ${response.status} ${await response.text()}`)
  const { slot, tag, hardReset = false, name = 'erc20-transfers' } = options
  const body = {
    artifactUrl: fileUrl,
    options: { hardReset, overrideName: name, overrideSlot: slot, ...(tag ? { tag } : {}) },
  }
  return (await cloud.api.squids.deploy({ params, body })).id
}

/** Waits until the deployment has ended, successfully or not, and returns it. */
export const waitForDeployment = (
  cloud: Pick<TestCloud, 'api' | 'org'>,
  id: number,
  withinMs = 240_000,
): Promise<Deployment> =>
  until(
    async () => {
      const deployment = await cloud.api.deployments
        .get({ params: { code: cloud.org, id: String(id) } })
        .catch(() => null)
      return deployment && !isInProgress(deployment) ? deployment : null
    },
    `deployment ${id} has ended`,
    withinMs,
  )

async function archiveOf(folder: string): Promise<Blob> {
  const chunks: Uint8Array[] = []
  for await (const chunk of create({ gzip: true, cwd: folder, portable: true }, ['.'])) chunks.push(chunk)
  return new Blob(chunks, { type: 'application/gzip' })
}
