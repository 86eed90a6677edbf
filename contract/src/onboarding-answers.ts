/** Options of the welcome questionnaire (spec 3). */
export const occupations = [
  'Front-end dev',
  'Back-end dev',
  'Blockchain dev',
  'Full-stack dev',
  'CTO or technical founder',
  'Analyst',
  'Other',
] as const
/** How the user heard of the product. */
export const sources = ['Twitter', 'Google', 'Event', 'sales rep', 'Other'] as const
/** What the user builds squids for. */
export const usages = ['DeFi', 'NFT', 'Social', 'Games', 'Other'] as const
