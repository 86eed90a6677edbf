import { useVersion } from './use-version.ts'

export default function DeploymentTab() {
  return <p>{useVersion().reference}</p>
}
