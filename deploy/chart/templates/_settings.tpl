{{/* SHOAL_DATA_DIR is a folder in the volume, not the volume itself: Shoal sets its mode, which only the owner of a folder can do. */}}
{{- define "shoal.settings" -}}
HOME: /tmp
SHOAL_RUNTIME: kubernetes
SHOAL_ON_EXIT: keep
SHOAL_HOST: 0.0.0.0
SHOAL_PORT: "4000"
SHOAL_GATEWAY_PORT: "4001"
SHOAL_HEALTH_HOST: 0.0.0.0
SHOAL_HEALTH_PORT: "4002"
SHOAL_DATA_DIR: /data/shoal
SHOAL_PUBLIC_URL: {{ .Values.publicUrl | quote }}
SHOAL_GATEWAY_URL: {{ .Values.gatewayUrl | quote }}
SHOAL_REGISTRY: {{ .Values.registry.address | quote }}
{{- with .Values.registry.baseImage }}
SHOAL_BASE_IMAGE: {{ . | quote }}
{{- end }}
SHOAL_S3_BUCKET: {{ .Values.s3.bucket | quote }}
SHOAL_S3_REGION: {{ .Values.s3.region | quote }}
{{- with .Values.s3.endpoint }}
SHOAL_S3_ENDPOINT: {{ . | quote }}
{{- end }}
SHOAL_KUBE_GATEWAYS: namespace:{{ .Release.Namespace }}
SHOAL_KUBE_QUOTA: {{ .Values.squids.quota | quote }}
SHOAL_KUBE_CPU_RATIO: {{ .Values.squids.cpuRatio | quote }}
{{- with .Values.squids.runtimeClass }}
SHOAL_KUBE_RUNTIME_CLASS: {{ . | quote }}
{{- end }}
{{- range $name, $value := .Values.settings }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end -}}
