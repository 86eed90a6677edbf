import type { Deployment } from '@shoal/contract'
import { isInProgress } from '@shoal/contract'
import { create } from 'tar'
import type { Day } from './day.ts'
import { until } from './until.ts'

type Options = { slot: string; tag?: string; hardReset?: boolean; name?: string }

/** Packs, uploads and deploys the project like the public client, without waiting; returns the deployment's id. */
export async function deploy(
  day: Pick<Day, 'api' | 'org' | 'token' | 'project'> & { shoal: Pick<Day['shoal'], 'url'> },
  options: Options,
): Promise<number> {
  const params = { code: day.org }
  const { uploadUrl, uploadFields, fileUrl } = await day.api.deployments.createUpload({ params })
  const form = new FormData()
  for (const [key, value] of Object.entries(uploadFields)) form.append(key, value)
  form.append('file', await archiveOf(day.project), 'squid.tar.gz')
  const sent = await fetch(`${day.shoal.url}/api/v1${uploadUrl}`, {
    method: 'POST',
    headers: { authorization: `token ${day.token}` },
    body: form,
  })
  if (!sent.ok) throw new Error(`upload: ${sent.status} ${await sent.text()}`)
  const { slot, tag, hardReset = false, name = 'erc20-transfers' } = options
  const body = {
    artifactUrl: fileUrl,
    options: { hardReset, overrideName: name, overrideSlot: slot, ...(tag ? { tag } : {}) },
  }
  return (await day.api.squids.deploy({ params, body })).id
}

/** Waits until the deployment has ended, successfully or not, and returns it. */
export const ended = (day: Pick<Day, 'api' | 'org'>, id: number, withinMs = 240_000): Promise<Deployment> =>
  until(
    async () => {
      const now = await day.api.deployments.get({ params: { code: day.org, id: String(id) } }).catch(() => null)
      return now && !isInProgress(now) ? now : null
    },
    `deployment ${id} has ended`,
    withinMs,
  )

async function archiveOf(folder: string): Promise<Blob> {
  const chunks: Uint8Array[] = []
  for await (const chunk of create({ gzip: true, cwd: folder, portable: true }, ['.'])) chunks.push(chunk)
  return new Blob(chunks, { type: 'application/gzip' })
}
