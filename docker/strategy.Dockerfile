# What strategies find beside the SDK when they run with --isolation docker:
#   docker build -t rmuc-arena-strategy:VERSION -f docker/strategy.Dockerfile .
# VERSION is the package's, as `pip show sysone-core` tells it; --docker-image takes any other name.
# The interpreter's version must be that of the machine that plays: the SDK's core is compiled for it.
ARG PYTHON=3.11
FROM python:${PYTHON}-slim
COPY constraints.txt /constraints.txt
RUN pip install --no-cache-dir -c /constraints.txt numpy msgspec
