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
export const sources = ['Twitter', 'Google', 'Event', 'sales rep', 'Other'] as const
export const usages = ['DeFi', 'NFT', 'Social', 'Games', 'Other'] as const
