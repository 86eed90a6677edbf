import { Link } from '@tanstack/react-router'
import { Button, buttonClass } from '../../ui/Button.tsx'

/** `whyNot`: why it cannot be pressed. */
export function DeployButton({ whyNot }: { whyNot: string | null }) {
  if (whyNot !== null)
    return (
      <Button variant="primary" disabledReason={whyNot}>
        Deploy squid
      </Button>
    )
  return (
    <Link to="/squids/deploy" className={buttonClass('primary')}>
      Deploy squid
    </Link>
  )
}
