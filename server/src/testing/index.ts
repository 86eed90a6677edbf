export type { Make, TestOrg, TestUser } from './make.ts'
export { startTestApp, type TestApp, type TestAppOptions } from './test-app.ts'
