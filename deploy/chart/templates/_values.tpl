{{/* Rejects values that the schema accepts, but that are missing or contradict each other. */}}
{{- define "shoal.checkValues" -}}
{{- $required := dict
  "image" "the image of Shoal, such as registry.example.com/shoal/server@sha256:…"
  "publicUrl" "the URL of the console, such as https://shoal.example.com"
  "gatewayUrl" "the URL of squids, such as https://squids.example.com/{org}"
  "existingSecret" "the name of a Secret with DATABASE_URL, SHOAL_SQUIDS_DATABASE_URL and SHOAL_SECRETS_KEY" -}}
{{- range $name, $meaning := $required -}}
{{- if not (index $.Values $name) }}{{ fail (printf "%s must be set: %s" $name $meaning) }}{{ end -}}
{{- end -}}
{{- if not .Values.registry.address }}{{ fail "registry.address must be set: nodes pull the images of squids from it" }}{{ end -}}
{{- if not .Values.s3.bucket }}{{ fail "s3.bucket must be set: the api and the worker do not share a disk for the archives of squids" }}{{ end -}}
{{- $scaling := .Values.gateway.autoscaling -}}
{{- if and $scaling.enabled (gt (int $scaling.minReplicas) (int $scaling.maxReplicas)) -}}
{{- fail (printf "gateway.autoscaling.minReplicas is %v, which is more than maxReplicas (%v)" $scaling.minReplicas $scaling.maxReplicas) -}}
{{- end -}}
{{- if and $scaling.enabled (not (dig "requests" "cpu" "" .Values.gateway.resources)) -}}
{{- fail "gateway.resources.requests.cpu must be set: autoscaling measures usage as a share of this request" -}}
{{- end -}}
{{- if and .Values.collector.enabled (eq .Values.collector.namespace .Release.Namespace) -}}
{{- fail "collector.namespace must not be the namespace of the release: the collector reads files of nodes, which needs a separate namespace with the Pod Security level privileged" -}}
{{- end -}}
{{- range $name, $url := dict "publicUrl" .Values.publicUrl "gatewayUrl" .Values.gatewayUrl "s3.endpoint" .Values.s3.endpoint -}}
{{- if regexMatch "://[^/]*@" $url }}{{ fail (printf "%s must be a URL without credentials (its value is not shown)" $name) }}{{ end -}}
{{- end -}}
{{- range $name, $value := .Values.settings -}}
{{- if has $name $.Values.secretSettings }}{{ fail (printf "%s is in settings and in secretSettings" $name) }}{{ end -}}
{{- if regexMatch "KEY|TOKEN|SECRET|PASSWORD|DSN|MAIL_URL" $name -}}
{{- fail (printf "settings.%s is a secret: put it into the Secret %s and its name into secretSettings" $name $.Values.existingSecret) -}}
{{- end -}}
{{- if regexMatch "://[^/]*@" (toString $value) -}}
{{- fail (printf "settings.%s has a URL with credentials: put it into the Secret %s and its name into secretSettings" $name $.Values.existingSecret) -}}
{{- end -}}
{{- if has $name (include "shoal.ownSettings" $ | fromYamlArray) -}}
{{- fail (printf "settings.%s is set by the chart" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Settings that the chart derives from other values. */}}
{{- define "shoal.ownSettings" -}}
[DATABASE_URL, SHOAL_SQUIDS_DATABASE_URL, SHOAL_RUNTIME, SHOAL_ROLES, SHOAL_HOST, SHOAL_PORT, SHOAL_GATEWAY_PORT, SHOAL_HEALTH_HOST, SHOAL_HEALTH_PORT, SHOAL_DATA_DIR, SHOAL_ON_EXIT, SHOAL_PUBLIC_URL, SHOAL_GATEWAY_URL, SHOAL_REGISTRY, SHOAL_REGISTRY_AUTH_FILE, SHOAL_BASE_IMAGE, SHOAL_S3_BUCKET, SHOAL_S3_ENDPOINT, SHOAL_S3_REGION, SHOAL_KUBECONFIG, SHOAL_KUBE_GATEWAYS, SHOAL_KUBE_QUOTA, SHOAL_KUBE_CPU_RATIO, SHOAL_KUBE_RUNTIME_CLASS, SHOAL_KUBE_PULL_AUTH_FILE, SHOAL_KUBE_LOGS_LISTEN, SHOAL_KUBE_BUILDS_LISTEN]
{{- end -}}
