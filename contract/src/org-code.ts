import { limits } from './limits.ts'

/** The code suggested while a person types an organization's name (spec 5). */
export const orgCodeFromName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[ _]+/g, '-')
    .replace(/[^a-z0-9-]/g, '')
    .replace(/-+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, limits.orgCodeMax)
