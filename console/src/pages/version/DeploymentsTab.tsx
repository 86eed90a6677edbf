import { useVersion } from './use-version.ts'

export default function DeploymentsTab() {
  return <p>{useVersion().reference}</p>
}
