import { pushStoredImages, storedImages } from '@shoal/runtime'
import type { installationMoves } from '../modules/deployments/index.ts'
import type { Side } from './side.ts'

type UsedImage = Awaited<ReturnType<typeof installationMoves.listUsedImages>>[number]

/** Images to push, and images that only get another name. `missing`: images that the target would not have, for `reason`. */
export type ImagePlan = {
  pushed: UsedImage[]
  renamed: Record<string, string>
  missing: UsedImage[]
  reason: string
}

/** Decides how the target gets the images that versions run or keep. */
export async function planImages(source: Side, target: Side, used: UsedImage[]): Promise<ImagePlan> {
  const plan: ImagePlan = { pushed: [], renamed: {}, missing: [], reason: '' }
  const runtimes = [source.config.SHOAL_RUNTIME, target.config.SHOAL_RUNTIME]
  // Simulated images have no files.
  if (runtimes.includes('sim') || used.length === 0) return plan
  const [from, to] = runtimes
  if (from === 'kubernetes' && to === 'kubernetes') {
    if (source.config.registry?.registry === target.config.registry?.registry) return plan
    return { ...plan, missing: used, reason: 'Both settings must have the same SHOAL_REGISTRY.' }
  }
  // Images on a host refer to programs in its state directory.
  const stored = await storedImages(
    (from === 'process' ? source : target).stateDir,
    (from === 'process' ? target : source).config.registry?.registry ?? null,
  )
  const localName = (image: string): string | undefined =>
    stored.find(({ local, pushed }) => local === image || pushed === image)?.local
  if (from === 'process' && source.stateDir !== target.stateDir && to === 'process')
    return { ...plan, missing: used, reason: 'Both settings must have the same SHOAL_DATA_DIR, which has the images.' }
  for (const image of used) {
    const local = localName(image.image)
    if (local === undefined) plan.missing.push(image)
    else if (to === 'kubernetes') plan.pushed.push({ ...image, image: local })
    else if (local !== image.image) plan.renamed[image.image] = local
  }
  return {
    ...plan,
    reason: `${(from === 'process' ? source : target).stateDir} does not have the images of all versions.`,
  }
}

/** Pushes images to the registry of the target, and returns the new names by the old ones. */
export async function moveImages(
  source: Side,
  target: Side,
  { pushed, renamed }: ImagePlan,
  options: { onPushed: (done: number, all: number) => void; signal: AbortSignal },
): Promise<Record<string, string>> {
  if (pushed.length === 0 || !target.config.registry) return renamed
  let done = 0
  const names = await pushStoredImages({
    stateDir: source.stateDir,
    registry: target.config.registry,
    images: pushed.map(({ image, orgId }) => ({ local: image, tenant: String(orgId) })),
    onPushed: () => options.onPushed(++done, pushed.length),
    signal: options.signal,
  })
  return { ...renamed, ...Object.fromEntries(names) }
}
