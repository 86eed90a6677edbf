import type { Profile } from '@shoal/contract'
import type { Resources } from '@shoal/runtime'

/** The profiles that a manifest may name (contract 4). */
export type ScaleProfile = Exclude<Profile, 'collocated'>

const mebibytes = (n: number) => n * 2 ** 20
const gibibytes = (n: number) => n * 2 ** 30
const of = (cpuCores: number, memoryBytes: number): Resources => ({ cpuCores, memoryBytes })

/** The resources of an api replica or a processor. A collocated version gets less CPU and cannot be larger than `large` (contract 6.2). */
const programs: Record<ScaleProfile, { collocated: Resources | null; dedicated: Resources }> = {
  small: { collocated: of(0.2, mebibytes(768)), dedicated: of(0.5, mebibytes(768)) },
  medium: { collocated: of(0.5, mebibytes(1536)), dedicated: of(1, mebibytes(1536)) },
  large: { collocated: of(1, gibibytes(3)), dedicated: of(2, gibibytes(3)) },
  xlarge: { collocated: null, dedicated: of(4, gibibytes(6)) },
  '2xlarge': { collocated: null, dedicated: of(8, gibibytes(12)) },
}

/** `init` runs once and is not billed: it gets enough for migrations, whatever the profile of the other programs. */
export const initResources: Resources = of(1, mebibytes(1536))

/** Null when a collocated version cannot have this profile. */
export function programResources(profile: ScaleProfile, isDedicated: boolean): Resources | null {
  return isDedicated ? programs[profile].dedicated : programs[profile].collocated
}

/** The profile that is billed and shown: a collocated version has one flat price (contract 6.1). */
export const billedProfile = (profile: ScaleProfile, isDedicated: boolean): Profile =>
  isDedicated ? profile : 'collocated'

/** `10Gi`, `10G`, `1Ti` in bytes (contract 4). */
export function storageBytes(text: string): number {
  const [, amount = '0', unit = 'Gi'] = /^(\d+)(G|Gi|T|Ti)$/.exec(text) ?? []
  const units: Record<string, number> = { G: 1e9, Gi: 2 ** 30, T: 1e12, Ti: 2 ** 40 }
  return Number(amount) * (units[unit] ?? 0)
}
