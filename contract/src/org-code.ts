import { limits } from './limits.ts'

/** Returns the code suggested for an organization's name (spec 5). */
export const orgCodeFromName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[ _]+/g, '-')
    .replace(/[^a-z0-9-]/g, '')
    .replace(/-+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, limits.orgCodeMax)
