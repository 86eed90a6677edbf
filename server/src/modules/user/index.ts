export { createApiToken } from './api-tokens.ts'
export { createUser } from './create-user.ts'
export { userHandlers } from './handlers.ts'
export { userJobs } from './jobs.ts'
