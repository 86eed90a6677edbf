import { gibibytes, mebibytes } from '../../bytes.ts'
import type { Profile } from '@shoal/contract'
import type { Resources } from '@shoal/runtime'

/** The profiles that a manifest may name. */
export type ScaleProfile = Exclude<Profile, 'collocated'>

const resources = (cpuCores: number, memoryBytes: number): Resources => ({ cpuCores, memoryBytes })

/** The resources of an api replica or a processor. A collocated version gets less CPU and cannot be larger than `large`. */
const resourcesByProfile: Record<ScaleProfile, { collocated: Resources | null; dedicated: Resources }> = {
  small: { collocated: resources(0.2, mebibytes(768)), dedicated: resources(0.5, mebibytes(768)) },
  medium: { collocated: resources(0.5, mebibytes(1536)), dedicated: resources(1, mebibytes(1536)) },
  large: { collocated: resources(1, gibibytes(3)), dedicated: resources(2, gibibytes(3)) },
  xlarge: { collocated: null, dedicated: resources(4, gibibytes(6)) },
  '2xlarge': { collocated: null, dedicated: resources(8, gibibytes(12)) },
}

/** `init` runs once and is not billed: it gets enough for migrations, regardless of the profile of the other programs. */
export const initResources: Resources = resources(1, mebibytes(1536))

/** Returns the resources of a profile; null when a collocated version cannot have it. */
export function programResources(profile: ScaleProfile, isDedicated: boolean): Resources | null {
  return isDedicated ? resourcesByProfile[profile].dedicated : resourcesByProfile[profile].collocated
}

/** The profile that is billed and shown: a collocated version has one flat price. */
export const billedProfile = (profile: ScaleProfile, isDedicated: boolean): Profile =>
  isDedicated ? profile : 'collocated'

/** Converts `10Gi`, `10G`, `1Ti` or `1T` to bytes; returns 0 for any other text. */
export function storageBytes(text: string): number {
  const [, amount = '0', unit = 'Gi'] = /^(\d+)(G|Gi|T|Ti)$/.exec(text) ?? []
  const units: Record<string, number> = { G: 1e9, Gi: 2 ** 30, T: 1e12, Ti: 2 ** 40 }
  return Number(amount) * (units[unit] ?? 0)
}
