export type { TestOrg, TestUser } from './make.ts'
export { solveBotCheck } from './solve-challenge.ts'
export { startTestApp, type TestApp, type TestAppOptions } from './test-app.ts'
