import { useDeniedReason } from '../../components/access.tsx'
import { LinkButton } from '../../components/LinkButton.tsx'

export const AddSecretLink = () => (
  <LinkButton to="/secrets/add" variant="primary" disabledReason={useDeniedReason('secrets.write')}>
    Add secret
  </LinkButton>
)
